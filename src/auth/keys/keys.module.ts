import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth.module.js';
import { KeyAudit } from './key.audit.js';
import { KeyFollower } from './key-follower.js';
import { KeysController } from './keys.controller.js';
import { KeysRepository } from './keys.repository.js';
import { KeysService } from './keys.service.js';

/** The keys that the database holds. */
@Module({
  // TypeORM closes its connections after the modules that import it: when keys were used last is stored by then.
  imports: [TypeOrmModule.forFeature([]), AuthModule],
  controllers: [KeysController],
  providers: [KeysRepository, KeyFollower, KeysService, KeyAudit],
})
export class KeysModule {}
