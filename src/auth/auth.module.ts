import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { AccessPolicy } from './access-policy.js';
import { AdminKey } from './admin-key.js';
import { AuthGuard } from './auth.guard.js';

@Module({
  providers: [
    AccessPolicy,
    { provide: AdminKey, inject: [APP_CONFIG], useFactory: (config: AppConfig) => new AdminKey(config) },
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
  exports: [AccessPolicy],
})
export class AuthModule {}
