import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { CountersModule } from '../../base/counters/counters.module.js';
import { AccessPolicy } from './access-policy.js';
import { CallRates } from './call-rates.js';
import { AdminKey, KnownKeys } from './known-keys.js';
import { Sessions, SignInLinks } from './sessions.js';
import { SessionController } from './session/session.controller.js';
import { KeysController } from './keys/keys.controller.js';
import { KeysRepository } from './keys/keys.repository.js';
import { KeysService } from './keys/keys.service.js';

/** Access to the server. It works by what is in memory; KeysModule brings the keys of the database there. */
@Module({
  imports: [CountersModule],
  providers: [
    AccessPolicy,
    Sessions,
    SignInLinks,
    { provide: AdminKey, inject: [APP_CONFIG], useFactory: (config: AppConfig) => new AdminKey(config) },
    KnownKeys,
    CallRates,
  ],
  exports: [AccessPolicy, KnownKeys, CallRates, SignInLinks, Sessions, CountersModule],
})
export class AuthModule {}

/** Keys in the database, and sessions of browsers, over REST. */
@Module({
  // TypeORM closes its connections after the modules that import it: when keys were used last is stored by then.
  imports: [TypeOrmModule.forFeature([]), AuthModule],
  controllers: [KeysController, SessionController],
  providers: [KeysRepository, KeysService],
})
export class KeysModule {}
