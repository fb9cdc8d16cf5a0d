import { Global, Module } from '@nestjs/common';
import { Lifecycle } from './common/lifecycle.js';
import { StartupWork } from './common/startup-work.js';
import { StreamTopics } from './streams/stream-topics.js';
import { ToolEvents } from './streams/tool-events.js';

/** One state, one list of start work and one place for events and for what streams can follow, for the whole server. */
@Global()
@Module({
  providers: [Lifecycle, StartupWork, ToolEvents, StreamTopics],
  exports: [Lifecycle, StartupWork, ToolEvents, StreamTopics],
})
export class LifecycleModule {}
