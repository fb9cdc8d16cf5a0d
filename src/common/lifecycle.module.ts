import { Global, Module } from '@nestjs/common';
import { Lifecycle } from './lifecycle.js';
import { StartupWork } from './startup-work.js';

/** One state and one list of start work for the whole server. */
@Global()
@Module({ providers: [Lifecycle, StartupWork], exports: [Lifecycle, StartupWork] })
export class LifecycleModule {}
