import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditController } from './audit.controller.js';
import { AuditLog } from './audit-log.js';

/** The record of administrative acts. Global: `@Scopes` binds its interceptor to routes of all rooms. */
@Global()
@Module({
  // TypeORM closes its connections after the modules that import it: the last acts are stored by then.
  imports: [TypeOrmModule.forFeature([])],
  controllers: [AuditController],
  providers: [AuditLog],
  exports: [AuditLog],
})
export class AuditModule {}
