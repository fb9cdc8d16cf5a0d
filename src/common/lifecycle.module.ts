import { Global, Module } from '@nestjs/common';
import { Lifecycle } from './lifecycle.js';
import { StartupWork } from './startup-work.js';
import { ToolEvents } from './tool-events.js';

/** One state, one list of start work and one place for events for the whole server. */
@Global()
@Module({
  providers: [Lifecycle, StartupWork, ToolEvents],
  exports: [Lifecycle, StartupWork, ToolEvents],
})
export class LifecycleModule {}
