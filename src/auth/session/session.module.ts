import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth.module.js';
import { SessionController } from './session.controller.js';
import { SessionService } from './session.service.js';

/** The sessions of browsers over REST. */
@Module({
  imports: [AuthModule, AuditModule],
  controllers: [SessionController],
  providers: [SessionService],
})
export class SessionModule {}
