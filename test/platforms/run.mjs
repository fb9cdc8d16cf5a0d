/**
 * `npm run test:platforms`: agent platforms against a server that it starts, and servers of others behind it. Their packages
 * are installed here, beside the project's own, so that `npm test` needs none of them. With names of files it runs those alone.
 */
import '../support/typescript.mjs';
import { execFileSync } from 'node:child_process';
import { stopAll } from './platform-server.mjs';

const suites = [
  'asks',
  'conformance',
  'conformance-chain',
  'conformance-client',
  'clients',
  'sdks',
  'formats',
  'servers',
  'same',
  'spans',
  'investigation',
  'grpc',
];
const asked = process.argv.slice(2);
process.chdir(import.meta.dirname);
const npm = process.env.npm_execpath;
const install = ['install', '--no-save', '--ignore-scripts', '--loglevel=error'];
execFileSync(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), ...install], { stdio: 'inherit' });
process.chdir(new URL('../..', import.meta.url).pathname);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void stopAll().then(() => process.kill(process.pid, signal)));
for (const suite of suites) if (asked.length === 0 || asked.includes(suite)) await import(`./${suite}.mjs`);
