import { defaultThresholds, type ToolThresholds } from '../../../web/contract/tool.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import { isServerName } from '../../mcp-client/mcp-review.js';
import type { CustomTool } from './custom-tool.entity.js';
import { type CustomToolCreate, type CustomToolUpdate, initialSettings } from './tool-settings.js';

/** Transport headers, which a registration cannot set. */
const transportHeaders = new Set(
  'accept connection content-length content-type expect host keep-alive te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Names of headers that may hold secrets. Header values are shown to everybody who may list tools. */
const secretHeader = /auth|cookie|token|secret|key|session/i;
/** Matches `${NAME}` in a header, which is replaced by a variable of `env`. */
const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Checks that a tool has either a command or, if it is an MCP server, a URL. @throws Problem `invalid_request` */
function checkProgramOrUrl(tool: CustomTool): void {
  const { protocol, command, url, headers, bundle, workingDir } = tool;
  if (bundle !== null && workingDir !== null)
    throw wrong('/workingDir', 'must be left out: a tool that brought a bundle runs in its folder');
  if (url === null) {
    if (command === '') throw wrong('/command', 'is needed, or, of an MCP server, url');
    if (headers !== null) throw wrong('/headers', 'needs url');
    return;
  }
  if (protocol !== 'mcp') throw wrong('/url', 'needs protocol "mcp"');
  if (bundle !== null)
    throw wrong('/url', 'must be left out: the tool brought a bundle, whose files run here');
  if (command !== '') throw wrong('/url', 'must be left out where command is given');
  if (tool.args.length > 0) throw wrong('/args', 'needs command');
  const runsElsewhere = 'needs command: what is behind a url runs elsewhere, without a sandbox of ours';
  if (Object.keys(tool.sandbox ?? {}).length > 0) throw wrong('/sandbox', runsElsewhere);
  if (Object.keys(tool.permissions ?? {}).length > 0) throw wrong('/permissions', runsElsewhere);
  checkUrl(url);
  for (const [name, value] of Object.entries(headers ?? {})) checkHeader(name, value, tool.env);
}

/** Checks `credentials` against the settings that they need or exclude. @throws Problem `invalid_request` */
function checkCredentials(tool: CustomTool): void {
  const { credentials, isolation, protocol, url, env, headers, cacheTtlMs } = tool;
  if ((credentials === 'user' || isolation === 'user') && cacheTtlMs)
    throw wrong(
      '/cacheTtlMs',
      'must be left out: callers with accounts or processes of their own share no results',
    );
  if (credentials === 'none') return;
  if (url === null && !(credentials === 'user' && isolation === 'user' && protocol === 'mcp'))
    throw wrong(
      '/credentials',
      'needs url; or, as "user" with isolation "user", the command of an MCP server',
    );
  if (Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'authorization'))
    throw wrong('/headers/Authorization', `must be left out with credentials "${credentials}"`);
  const exchanges = Object.hasOwn(env, 'OAUTH_EXCHANGE_URL');
  if (exchanges && (url === null || credentials === 'shared'))
    throw wrong('/env', 'must hold OAUTH_EXCHANGE_URL only with url and credentials "user"');
  const neededVariables = {
    shared: ['OAUTH_CLIENT_ID', 'OAUTH_CLIENT_SECRET'],
    user: exchanges ? ['OAUTH_CLIENT_ID'] : [],
  }[credentials];
  const missing = neededVariables.find((name) => !Object.hasOwn(env, name));
  if (missing)
    throw wrong(
      '/env',
      `must hold ${missing} with ${exchanges ? 'OAUTH_EXCHANGE_URL' : 'credentials "shared"'}`,
    );
  if (Object.hasOwn(env, 'OAUTH_CLIENT_SECRET') && !Object.hasOwn(env, 'OAUTH_ISSUER'))
    throw wrong(
      '/env',
      'must hold OAUTH_ISSUER with OAUTH_CLIENT_SECRET: else the MCP server would choose who gets the secret',
    );
}

/** @throws Problem `invalid_request` if it is no web address, or contains credentials */
function checkUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw wrong('/url', 'must be an http or https URL');
  if (url.username || url.password) throw wrong('/url', 'must hold no credentials: give them in headers');
}

/** Checks a header that is sent to a server. @throws Problem `invalid_request` */
function checkHeader(name: string, value: string, env: object): void {
  const field = `/headers/${name}`;
  if (!headerName.test(name))
    throw wrong('/headers', `must name its headers as HTTP does, not ${JSON.stringify(name)}`);
  if (transportHeaders.has(name.toLowerCase()) || name.toLowerCase().startsWith('mcp-'))
    throw wrong(field, 'is set by the server itself');
  if (/[^\t\x20-\x7e]/.test(value)) throw wrong(field, 'must be printable ASCII');
  if (secretHeader.test(name) && !value.includes('${'))
    throw wrong(field, 'would be shown: write "${NAME}" where its secret stands, with NAME in env');
  const missing = [...value.matchAll(variable)].find(([, named = '']) => !Object.hasOwn(env, named));
  if (missing) throw wrong(field, `names ${missing[0]}, which env does not hold`);
}

/** Replaces variables in headers by their values. @param env decrypted */
export function filledHeaders(
  headers: Readonly<Record<string, string>> | null,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [
      name,
      value.replace(variable, (_whole, named: string) => env[named] ?? ''),
    ]),
  );
}

/**
 * The thresholds to store: only given members; null if there are none.
 * @throws Problem `invalid_request` with the field if the limits contradict each other or a default
 */
export function checkedThresholds(
  given: Partial<ToolThresholds> | null | undefined,
): Partial<ToolThresholds> | null {
  const members = Object.entries(given ?? {}).filter(([, limit]) => limit !== undefined);
  if (members.length === 0) return null;
  const own: Partial<ToolThresholds> = Object.fromEntries(members);
  const { successRateHealthy, successRateDegraded, latencyHealthyMs, latencyDegradedMs } = {
    ...defaultThresholds,
    ...own,
  };
  if (successRateDegraded > successRateHealthy) {
    const detail = `must not be greater than successRateHealthy (${successRateHealthy})`;
    throw wrong('/thresholds/successRateDegraded', detail);
  }
  if (latencyDegradedMs < latencyHealthyMs) {
    const detail = `must not be less than latencyHealthyMs (${latencyHealthyMs})`;
    throw wrong('/thresholds/latencyDegradedMs', detail);
  }
  return own;
}

/**
 * Defaults of MCP servers. A server may keep state between calls, so it has one permanent process for many concurrent
 * calls, and projects do not share it.
 */
const serverDefaults = { keepAlive: true, minProcesses: 1, maxConcurrency: 64, isolation: 'project' };

/**
 * A registered tool before its executable was started: given settings and defaults.
 * @param own values that depend on the tool or this server; a given `timeoutMs` takes precedence
 */
export function initialTool(
  create: CustomToolCreate,
  own: Pick<CustomTool, 'id' | 'userNumber' | 'env' | 'timeoutMs' | 'bundle'>,
): CustomTool {
  const { env: _sealedByTheCaller, ...given } = create;
  const defaults = {
    ...initialSettings,
    pinnedCommand: null,
    revision: 0,
    status: 'active',
    ...own,
    ...(create.protocol === 'mcp' && serverDefaults),
  };
  return {
    ...defaults,
    ...given,
    annotations: { ...defaults.annotations, ...given.annotations },
    sandbox: merged(null, given.sandbox),
    permissions: merged(null, given.permissions),
    thresholds: merged(null, given.thresholds),
  } as CustomTool;
}

/**
 * Checks the settings of a tool against each other and against the limits of the server. Reduces
 * `tool.thresholds` to the given ones.
 * @param given members of the request
 * @throws Problem `invalid_request` with the field
 */
export function checkSettings(tool: CustomTool, maxPoolSize: number, given: CustomToolUpdate): void {
  checkProgramOrUrl(tool);
  checkCredentials(tool);
  if (tool.protocol === 'mcp') checkServer(tool, given);
  tool.thresholds = checkedThresholds(tool.thresholds);
  const { poolSize, minProcesses, keepAlive } = tool;
  if (poolSize > maxPoolSize)
    throw wrong('/poolSize', `must not be greater than ${maxPoolSize} (CUSTOM_TOOLS_MAX_POOL_SIZE)`);
  if (minProcesses > poolSize)
    throw wrong('/minProcesses', `must not be greater than poolSize (${poolSize})`);
  if (minProcesses > 0 && !keepAlive) throw wrong('/minProcesses', 'needs keepAlive');
  if (tool.cacheTtlMs && !tool.annotations.readOnly) throw wrong('/cacheTtlMs', 'needs annotations.readOnly');
}

/** Checks the settings of an MCP server. @throws Problem `invalid_request` */
function checkServer({ name, keepAlive }: CustomTool, { inputSchema }: CustomToolUpdate): void {
  if (!isServerName(name))
    throw wrong('/name', 'must hold no "__" and not end with "_": its tools are called name__tool');
  if (!keepAlive) throw wrong('/keepAlive', 'must not be false for an MCP server');
  if (inputSchema)
    throw wrong('/inputSchema', 'must be left out: an MCP server lists the schemas of its tools itself');
}

/** Settings that a change names, without its environment. */
export function changedSettings(tool: CustomTool, changes: CustomToolUpdate): Partial<CustomTool> {
  const { env: _sealedByTheCaller, annotations, sandbox, permissions, thresholds, ...others } = changes;
  return {
    ...(others as Partial<CustomTool>),
    annotations: { ...tool.annotations, ...annotations },
    sandbox: merged(tool.sandbox, sandbox),
    permissions: merged(tool.permissions, permissions),
    thresholds: merged(tool.thresholds, thresholds),
  };
}

/** Merges changes into an object. Null removes a member, or the whole object. */
function merged<T extends object>(stored: T | null, changes: T | null | undefined): T | null {
  if (changes === undefined) return stored;
  if (changes === null) return null;
  const members = Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null);
  return members.length === 0 ? null : (Object.fromEntries(members) as T);
}
