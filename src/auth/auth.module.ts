import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessPolicy } from './access-policy.js';
import { AuthGuard } from './auth.guard.js';

@Module({
  providers: [AccessPolicy, { provide: APP_GUARD, useClass: AuthGuard }],
  exports: [AccessPolicy],
})
export class AuthModule {}
