/**
 * `npm run test:browser`: the built console of a server that it starts, in Chromium. With names of files it runs those
 * alone. What it needs beside the project's own packages is installed here; Chromium, and the proxies of `proxy`, come from the
 * system, or by apt-get where that is allowed.
 */
import '../support/typescript.mjs';
import { execFileSync, spawnSync } from 'node:child_process';
import { chromiumPath } from './chromium.mjs';

const suites = [
  'journeys',
  'tools',
  'questions',
  'playbooks',
  'traces',
  'projects',
  'keys',
  'experiments',
  'assistant',
  'pages',
  'bridge',
  'interruptions',
  'findings',
  'outage',
  'attacks',
  'hostile',
  'proxy',
  'pictures',
  'speed',
];
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !suites.includes(name));
if (unknown.length > 0)
  throw new Error(`No such suite: ${unknown.join(', ')}. There are ${suites.join(', ')}.`);

process.chdir(import.meta.dirname);
const npm = process.env.npm_execpath;
const install = ['install', '--no-save', '--ignore-scripts', '--loglevel=error'];
execFileSync(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), ...install], { stdio: 'inherit' });
const isAsked = (suite) => asked.length === 0 || asked.includes(suite);
const missing = () => [
  ...(chromiumPath() === undefined ? ['chromium'] : []),
  ...(isAsked('proxy') ? ['nginx', 'haproxy', 'openssl'].filter((program) => !isInstalled(program)) : []),
];
if (missing().length > 0 && process.getuid() === 0) {
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'] };
  spawnSync('apt-get', ['update', '-qq'], quiet);
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing()], quiet);
}
if (missing().length > 0)
  throw new Error(
    `Not found, nor installed by apt-get: ${missing().join(', ')}. CHROMIUM may name a browser.`,
  );
process.chdir(new URL('../..', import.meta.url).pathname);
for (const suite of suites) if (isAsked(suite)) await import(`./${suite}.mjs`);

function isInstalled(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}
