import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth.module.js';
import { SessionController } from '../session/session.controller.js';
import { SessionService } from '../session/session.service.js';
import { KeyFollower } from './key-follower.js';
import { KeysController } from './keys.controller.js';
import { KeysRepository } from './keys.repository.js';
import { KeysService } from './keys.service.js';

/** Keys in the database, and sessions of browsers, over REST. */
@Module({
  // TypeORM closes its connections after the modules that import it: when keys were used last is stored by then.
  imports: [TypeOrmModule.forFeature([]), AuthModule],
  controllers: [KeysController, SessionController],
  providers: [KeysRepository, KeyFollower, KeysService, SessionService],
})
export class KeysModule {}
