import { once } from 'node:events';
import { createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { Logger } from 'nestjs-pino';
import { AdminKey, assertSafeToExpose } from './web/auth/known-keys.js';
import { SignInLinks } from './web/auth/sessions.js';
import { collectWhenIdle } from './base/common/idle-collection.js';
import { Lifecycle } from './base/common/lifecycle.js';
import { messageOf } from './base/common/message-of.js';
import { announceServer } from './base/common/server-file.js';
import { StartError } from './base/common/start-error.js';
import { StartupWork } from './base/common/startup-work.js';
import { loadConfig } from './base/config/app-config.js';
import { createApp } from './edge/http/create-app.js';
import { drainOnSignals } from './edge/http/lifecycle.module.js';

/**
 * Callers who may wait to be let in while the event loop stands still, as far as the system's somaxconn goes. Beyond
 * that the kernel resets some; Node's own 511 are there after two seconds at 250 new connections a second.
 */
const backlog = 4_096;

/** The young generation that `npm start` gives is the main thread's: each other thread would take as much. */
for (const flag of ['min', 'max']) setFlagsFromString(`--${flag}-semi-space-size=0`);

async function main(): Promise<void> {
  const hasParent = process.send !== undefined;
  const config = loadConfig();
  assertSafeToExpose(config);
  await assertPortIsFree(config.server);
  const app = await createApp(config);
  drainOnSignals(app, config.server, hasParent);
  try {
    await app.listen({ port: config.server.port, host: config.server.host, backlog });
  } catch (error) {
    // The database server must not stay behind when, say, the port is taken.
    await app.close();
    throw error;
  }
  app.get(Lifecycle).ready();
  const logger = app.get(Logger);
  const url = await app.getUrl();
  const shownUrl = config.server.publicUrl ?? url;
  // An address that stands for all of them is reached by loopback.
  announceServer(config.dataDir, url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1'));
  logger.log(`listening on ${url}`);
  const work = app.get(StartupWork);
  await work.settled();
  collectWhenIdle(app.get(Lifecycle).executions);
  const { file } = app.get(AdminKey);
  const once = app.get(SignInLinks).make();
  if (file !== undefined)
    logger.log(`To change something, send the key in ${file}: export TOOLKEEPER_KEY=$(cat ${file})`);
  if (once !== undefined)
    logger.log(`console, signed in (once, within five minutes): ${shownUrl}/console/#once=${once}`);
  logger.log(`ready: ${url} (Swagger UI at ${shownUrl}/docs)`);
}

/** Looks before the database starts, which takes long. @throws StartError */
async function assertPortIsFree({ port, host }: { port: number; host: string }): Promise<void> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'another program listens there' : messageOf(error);
    throw new StartError(
      `The server cannot listen on ${host}:${port}: ${why}. Set PORT or HOST to another one.`,
    );
  } finally {
    probe.close();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof StartError ? error.message : String((error as Error).stack)}\n`);
  process.exit(1);
});
