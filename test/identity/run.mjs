/**
 * `npm run test:identity`: real OpenID providers sign in the official MCP client, and a server that this starts takes their
 * tokens. Their packages are installed here, beside the project's own; Maven fetches Keycloak, which runs on Java 17. With names of
 * files it runs those alone.
 */
import '../support/typescript.mjs';
import { execFileSync } from 'node:child_process';
import { stopAll } from '../platforms/platform-server.mjs';

const suites = ['tokens', 'agents', 'facade', 'console', 'exchange', 'away', 'keycloak'];
const asked = process.argv.slice(2);
process.chdir(import.meta.dirname);
const npm = process.env.npm_execpath;
const install = ['install', '--no-save', '--ignore-scripts', '--loglevel=error'];
execFileSync(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), ...install], { stdio: 'inherit' });
process.chdir(new URL('../..', import.meta.url).pathname);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void stopAll().then(() => process.kill(process.pid, signal)));
for (const suite of suites) if (asked.length === 0 || asked.includes(suite)) await import(`./${suite}.mjs`);
