import { Global, Module } from '@nestjs/common';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { StartupWork } from '../../base/common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { OpenStreams } from '../../base/streams/open-streams.js';
import { StreamTopics } from '../../base/streams/stream-topics.js';
import { ToolEvents } from '../../base/streams/tool-events.js';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from 'nestjs-pino';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Shuts down gracefully on SIGTERM or SIGINT: readiness fails, new calls are refused, calls in flight may finish (up to
 * a deadline), then pools, recorder and database close. Under npm a Ctrl-C arrives twice: the second is ignored. After
 * SIGTERM the server accepts calls for `drainDelayMs`, until the load balancer has seen that readiness fails.
 * @param hasParent whether a parent (`toolkeeper mcp`) started this server for itself only. The end of the parent,
 * detected by the closed channel, is then a signal too.
 */
export function drainOnSignals(
  app: NestFastifyApplication,
  { drainDelayMs, drainTimeoutMs }: AppConfig['server'],
  hasParent: boolean,
): void {
  const lifecycle = app.get(Lifecycle);
  let hasBegun = false;
  const drain = (why: string, delayMs = 0): void => {
    if (hasBegun) return;
    hasBegun = true;
    const logger = app.get(Logger);
    logger.log(`${why}: draining in ${delayMs} ms, ${lifecycle.requests.count} requests in flight`);
    if (delayMs === 0) lifecycle.drain();
    else lifecycle.leave();
    delay(delayMs)
      .then(() => {
        lifecycle.drain();
        return lifecycle.requests.idle(drainTimeoutMs);
      })
      .then(() => closeApp(app))
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error(error);
          process.exit(1);
        },
      );
  };
  process.on('SIGTERM', (why) => drain(why, drainDelayMs));
  process.on('SIGINT', (why) => drain(why));
  if (!hasParent) return;
  const onParentGone = (): void => drain('its parent is gone');
  if (process.connected) process.once('disconnect', onParentGone);
  else onParentGone();
}

/** Time for open answers to be written after the app has begun to close. */
const socketGraceMs = 2_000;

/** Closes the app, and after `socketGraceMs` all sockets that are still open. */
export async function closeApp(app: NestFastifyApplication): Promise<void> {
  const server = app.getHttpServer();
  const timer = setTimeout(() => server.closeAllConnections(), socketGraceMs);
  await app.close();
  clearTimeout(timer);
}

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
