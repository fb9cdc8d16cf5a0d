import { Global, Module } from '@nestjs/common';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { StartupWork } from '../../base/common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { OpenStreams } from '../../base/streams/open-streams.js';
import { StreamTopics } from '../../base/streams/stream-topics.js';
import { ToolEvents } from '../../base/streams/tool-events.js';

/** Provides the server's lifecycle state, its startup work, tool events and long-lived streams. */
@Global()
@Module({
  providers: [
    Lifecycle,
    StartupWork,
    ToolEvents,
    StreamTopics,
    {
      provide: OpenStreams,
      inject: [APP_CONFIG, Lifecycle],
      useFactory: ({ events: limits, server: { sseHeartbeatMs } }: AppConfig, lifecycle: Lifecycle) =>
        new OpenStreams({ ...limits, heartbeatMs: sseHeartbeatMs }, lifecycle),
    },
  ],
  exports: [Lifecycle, StartupWork, ToolEvents, StreamTopics, OpenStreams],
})
export class LifecycleModule {}
