import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { AccessPolicy } from './access-policy.js';
import { AdminKey } from './api-key.js';
import { CallRates } from './call-rates.js';
import { KnownKeys } from './known-keys.js';
import { SignInLinks, Sessions } from './sessions.js';

/** Who may come in, and do what. It works by what is in memory; KeysModule brings the keys of the database there. */
@Module({
  providers: [
    AccessPolicy,
    Sessions,
    SignInLinks,
    { provide: AdminKey, inject: [APP_CONFIG], useFactory: (config: AppConfig) => new AdminKey(config) },
    KnownKeys,
    CallRates,
  ],
  exports: [AccessPolicy, KnownKeys, CallRates, SignInLinks, Sessions],
})
export class AuthModule {}
