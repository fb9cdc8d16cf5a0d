import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from 'nestjs-pino';
import { Lifecycle } from './common/lifecycle.js';

/**
 * At SIGTERM or SIGINT: readiness fails and new calls are refused, calls in flight end (up to a deadline), then
 * everything closes: pools, recorder, database. Under npm a Ctrl-C arrives twice: the second is ignored.
 */
export function drainOnSignals(app: NestFastifyApplication, timeoutMs: number): void {
  const inFlight = countRequests(app);
  let draining = false;
  const drain = (signal: NodeJS.Signals): void => {
    if (draining) return;
    draining = true;
    const logger = app.get(Logger);
    logger.log(`${signal}: draining, ${inFlight.count} requests in flight`);
    app.get(Lifecycle).drain();
    inFlight
      .idle(timeoutMs)
      .then(() => closeAll(app))
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
}

/** What is still open after a while is cut: a call's socket, and one that never sent a byte. */
async function closeAll(app: NestFastifyApplication): Promise<void> {
  const server = app.getHttpServer();
  const timer = setTimeout(() => server.closeAllConnections(), socketGraceMs);
  await app.close();
  clearTimeout(timer);
}

const socketGraceMs = 2_000;

/** Requests between their arrival and the end of their answer. */
function countRequests(app: NestFastifyApplication) {
  const fastify = app.getHttpAdapter().getInstance();
  const counter = { count: 0, onIdle: (): void => undefined, idle };
  fastify.addHook('onRequest', (_request, reply, done) => {
    counter.count += 1;
    // `close` comes exactly once, whether the answer was written or the client left.
    reply.raw.once('close', () => {
      counter.count -= 1;
      if (counter.count === 0) counter.onIdle();
    });
    done();
  });

  function idle(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      counter.onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
      if (counter.count === 0) counter.onIdle();
    });
  }
  return counter;
}
