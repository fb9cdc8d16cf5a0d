import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from 'nestjs-pino';
import { Lifecycle } from '../common/lifecycle.js';

/**
 * At SIGTERM or SIGINT: readiness fails and new calls are refused, calls in flight end (up to a deadline), then
 * everything closes: pools, recorder, database. Under npm a Ctrl-C arrives twice: the second is ignored.
 * @param hasParent whoever started it did so for itself alone (`toolkeeper mcp`): its end, told by the channel between
 * them however it came, is a signal, too
 */
export function drainOnSignals(app: NestFastifyApplication, timeoutMs: number, hasParent: boolean): void {
  const lifecycle = app.get(Lifecycle);
  let draining = false;
  const drain = (why: string): void => {
    if (draining) return;
    draining = true;
    const logger = app.get(Logger);
    logger.log(`${why}: draining, ${lifecycle.requests.count} requests in flight`);
    lifecycle.drain();
    lifecycle.requests
      .idle(timeoutMs)
      .then(() => closeApp(app))
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error(error);
          process.exit(1);
        },
      );
  };
  process.on('SIGTERM', drain);
  process.on('SIGINT', drain);
  if (!hasParent) return;
  const orphaned = (): void => drain('its parent is gone');
  if (process.connected) process.once('disconnect', orphaned);
  else orphaned();
}

/** Ends the app, and cuts the sockets that are still open after a while: a call's, and one that never sent a byte. */
export async function closeApp(app: NestFastifyApplication): Promise<void> {
  const server = app.getHttpServer();
  const timer = setTimeout(() => server.closeAllConnections(), socketGraceMs);
  await app.close();
  clearTimeout(timer);
}

const socketGraceMs = 2_000;
