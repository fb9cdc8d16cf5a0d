import { Module, type OnModuleInit } from '@nestjs/common';
import { APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { AccessPolicy } from './access-policy.js';
import { AuthGuard } from './auth.guard.js';
import { registerAuthHook } from './auth.hook.js';

@Module({
  providers: [AccessPolicy, { provide: APP_GUARD, useClass: AuthGuard }],
  exports: [AccessPolicy],
})
export class AuthModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly policy: AccessPolicy,
  ) {}

  /** Fastify binds hooks to routes when it becomes ready: routes registered earlier are covered, too. */
  onModuleInit(): void {
    registerAuthHook(this.host.httpAdapter.getInstance<FastifyInstance>(), this.policy);
  }
}
