import type { ServerAddress, Surroundings } from '../surroundings.js';
import type { Finding } from './host.js';

interface Part {
  readonly status: 'up' | 'down' | 'degraded';
  readonly message?: string;
  readonly [detail: string]: unknown;
}

interface StoredTool {
  readonly name: string;
  readonly protocol: string;
  readonly isolation: string;
}

const timeoutMs = 10_000;
const mends: Readonly<Record<string, string>> = {
  database: 'is it up, and right in DATABASE_URL? The log of the server has the reason',
  recorder: 'docs/operate/recording.md says what fills the journal',
  embeddings: 'is EMBEDDINGS_URL right, and its model there? Meanwhile playbooks are found by words',
  server: 'wait: it starts, or ends',
  tools: 'wait: tools are being loaded',
};
/** From which tier on to the next one. */
const nextTier = [
  'apt-get install bubblewrap socat; SANDBOX and SANDBOX_MAX_TIER must allow it',
  'apt-get install bubblewrap socat; an ordinary pod cannot run them (docs/operate/sandbox.md)',
  'give it a writable cgroup: SANDBOX_CGROUP (docs/operate/sandbox.md)',
];

/** What a running server says of itself. @returns undefined where none answers */
export async function serverFindings(surroundings: Surroundings): Promise<Finding[] | undefined> {
  const address = surroundings.server();
  const asked = await ask(address, '/readyz').catch(() => undefined);
  if (!asked) return undefined;
  const { details = {} } = (await asked.json().catch(() => ({}))) as { details?: Record<string, Part> };
  const state = asked.ok ? 'ok' : 'missing';
  const found = `${address.url} ${asked.ok ? 'is ready' : `answers ${asked.status}`}`;
  const notServer = {
    what: 'server',
    state: 'missing',
    found,
    mend: 'another program listens there: set PORT',
  } as const;
  if (Object.keys(details).length === 0) return [notServer];
  return [
    { what: 'server', state, found },
    await keyFinding(address, surroundings.dataDir),
    ...(await sharedServers(address)),
    ...Object.entries(details)
      .filter(([part]) => part !== 'server')
      .map(([part, told]) => (part === 'sandbox' ? sandboxFinding(told) : partFinding(part, told))),
    ...(await toolFindings(address).catch(() => [])),
  ];
}

/** The end of a message that says how to allow what it refuses. */
const allowing = /(?:to allow it(?:, set|:)|, or set) (chmod \S+ \S+|([A-Z_]+)=(\S+))$/;

/** Tools that cannot be started, and the lines that allow those which a rule refuses. */
async function toolFindings(address: ServerAddress): Promise<Finding[]> {
  const answer = await ask(address, '/api/v1/custom-tools?status=error&limit=100');
  const { data = [] } = (await answer.json()) as { data?: { name: string; errorMessage: string | null }[] };
  const tools = data.map(({ name, errorMessage }): Finding & { readonly rule: RegExpExecArray | null } => {
    const rule = allowing.exec(errorMessage ?? '');
    const why = errorMessage ?? 'it cannot be started';
    return { what: `tool ${name}`, state: 'note', found: why, rule, ...(rule?.[1] && { mend: rule[1] }) };
  });
  const settings = new Map<string, Set<string>>();
  for (const { rule } of tools) {
    const [, , variable, values = ''] = rule ?? [];
    if (variable === undefined) continue;
    settings.set(variable, new Set([...(settings.get(variable) ?? []), ...values.split(',')]));
  }
  return [
    ...tools.map(({ rule: _only, ...finding }) => finding),
    ...[...settings].map(([variable, values]) => ({
      what: 'to allow all',
      state: 'note' as const,
      found: `${variable}=${[...values].join(',')}`,
    })),
  ];
}

async function keyFinding(address: ServerAddress, dataDir: string): Promise<Finding> {
  const what = 'key';
  const mend = `set TOOLKEEPER_KEY, or TOOLKEEPER_DATA_DIR to that of the server (now ${dataDir})`;
  if (address.key === undefined)
    return { what, state: 'note', found: 'none is known: what changes something is refused', mend };
  const { status } = await ask(address, '/api/v1/tools?limit=1');
  if (status === 401) return { what, state: 'missing', found: 'the server does not know it', mend };
  return { what, state: 'ok', found: 'the server knows it' };
}

/** MCP servers whose memory all projects share. */
async function sharedServers(address: ServerAddress): Promise<Finding[]> {
  const asked = await ask(address, '/api/v1/custom-tools?limit=1000');
  const { data = [] } = (await asked.json().catch(() => ({}))) as { data?: readonly StoredTool[] };
  return data
    .filter(({ protocol, isolation }) => protocol === 'mcp' && isolation === 'shared')
    .map(({ name }) => ({
      what: `MCP server ${name}`,
      state: 'note',
      found: 'is shared: each project can read what another left in its memory',
      mend: `PATCH /api/v1/custom-tools/${name} {"isolation": "project"}`,
    }));
}

function sandboxFinding({ tier, enabled, policy, grantable }: Part): Finding {
  const what = 'sandbox';
  if (typeof tier !== 'number')
    return { what, state: 'ok', found: 'its tier is told to the admin key alone' };
  const held = enabled === false ? 'switched off' : `tier ${tier} of 3, policy ${String(policy)}`;
  const grants = Array.isArray(grantable) && grantable.length > 0 ? grantable.join(', ') : 'nothing else';
  const found = `${held}; besides its own folder a tool may be granted: ${grants} (SANDBOX_GRANTABLE_PATHS)`;
  const mend = enabled === false ? 'SANDBOX=enforce' : nextTier[tier];
  return mend === undefined ? { what, state: 'ok', found } : { what, state: 'note', found, mend };
}

function partFinding(what: string, { status, ...details }: Part): Finding {
  const told = Object.entries(details).map(([name, value]) => `${name} ${String(value)}`);
  const found = [status, ...told].join(', ');
  if (status === 'up') return { what, state: 'ok', found };
  const mend = mends[what];
  return { what, state: status === 'down' ? 'missing' : 'note', found, ...(mend && { mend }) };
}

const ask = ({ url, key }: ServerAddress, path: string): Promise<Response> =>
  fetch(`${url}${path}`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(timeoutMs),
  });
