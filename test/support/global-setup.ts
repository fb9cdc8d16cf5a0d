import { registerHooks } from 'node:module';
import { delimiter, join } from 'node:path';
import type { TestServer } from './test-server.js';

declare global {
  var toolkeeperTestServer: TestServer | undefined;
}

/** Starts one database server for the whole run and tells the workers where it is. */
export default async function run(): Promise<void> {
  // As `npm test` does: `node` is the project's own.
  process.env['PATH'] = [join(process.cwd(), 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
  // Jest maps no module names here: our sources import `.js` where a `.ts` stands.
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        if (!/^\.{1,2}\/.*\.js$/.test(specifier)) throw error;
        return next(specifier.replace(/\.js$/, '.ts'), context);
      }
    },
  });
  try {
    const { startTestServer } = await import('./test-server.js');
    globalThis.toolkeeperTestServer = await startTestServer();
    Object.assign(process.env, globalThis.toolkeeperTestServer.environment);
  } finally {
    hooks.deregister();
  }
}
