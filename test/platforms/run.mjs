/**
 * `npm run test:platforms`: the clients of agent platforms against a server that it starts. Their packages are installed
 * here, beside the project's own, so that `npm test` needs none of them.
 */
import '../support/typescript.mjs';
import { execFileSync } from 'node:child_process';

process.chdir(import.meta.dirname);
const npm = process.env.npm_execpath;
const install = ['install', '--no-save', '--ignore-scripts', '--loglevel=error'];
execFileSync(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), ...install], { stdio: 'inherit' });
process.chdir(new URL('../..', import.meta.url).pathname);
await import('./platforms.mjs');
