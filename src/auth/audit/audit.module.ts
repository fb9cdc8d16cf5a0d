import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditController } from './audit.controller.js';
import { AuditInterceptor } from './audit.interceptor.js';
import { AuditLog } from './audit-log.js';
import { AuditRepository } from './audit.repository.js';

/** The record of what was done with the rights of an administrator. */
@Module({
  // TypeORM closes its connections after the modules that import it: the last acts are stored by then.
  imports: [TypeOrmModule.forFeature([])],
  controllers: [AuditController],
  providers: [AuditRepository, AuditLog, { provide: APP_INTERCEPTOR, useClass: AuditInterceptor }],
})
export class AuditModule {}
