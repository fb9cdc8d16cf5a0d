import { jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { manifest } from '../../base/common/project.js';
import { textMember } from '../process-pool/own-dialect.js';
import type { Handshake, Reply } from '../process-pool/pool.types.js';
import type { RepeatedMember } from './request-headers.js';

/** `legacy`: sessions that begin with `initialize` · `modern`: no sessions, each request is complete. */
export type Era = 'legacy' | 'modern';

/** Revisions of the legacy era, newest first. */
export const legacyRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export const modernRevision = '2026-07-28';

/** Timeout of `server/discover`, because old servers may not answer unknown requests. */
export const discoverMs = 4_000;

/** Facts about one MCP server that its sessions share. */
export interface McpPeer {
  /** Era of its last session, with which the next one begins. */
  era: Era;
  /** Whether it may also speak the legacy era. */
  speaksBoth: boolean;
  /** Members of its tools' inputs that a call repeats in headers, by tool. */
  readonly repeated: Map<string, readonly RepeatedMember[]>;
}

/** A new peer. @param era the first to try: `legacy` for programs, because old ones exit at any request before `initialize` */
export const newPeer = (era: Era): McpPeer => ({
  era,
  speaksBoth: era === 'modern',
  repeated: new Map(),
});

/** Declared to all servers. Whether a caller can really be asked is checked when its server asks. */
export const clientCapabilities = { roots: {}, elicitation: { form: {}, url: {} } };
export const clientInfo = { name: 'toolkeeper', title: 'Toolkeeper', version: manifest().version };

const metaPrefix = 'io.modelcontextprotocol/';
/** Member of `_meta` with the revision, which only requests of the modern era have. */
export const versionMember = `${metaPrefix}protocolVersion`;
const serverMember = `${metaPrefix}serverInfo`;
const capabilitiesMember = `${metaPrefix}clientCapabilities`;
/** Member of `_meta` with the caller's capabilities, which the modern era declares with each request. */
export const callersMember = 'toolkeeper/clientCapabilities';
/** Member of `_meta` of a call whose caller can be asked while it runs. */
export const liveMember = 'toolkeeper/asksWhileItRuns';
const ownCapabilities = { extensions: { [`${metaPrefix}tasks`]: {} } };
/** Members of `_meta` of each request in the modern era. */
const envelope = {
  [versionMember]: modernRevision,
  [`${metaPrefix}clientInfo`]: clientInfo,
  [capabilitiesMember]: ownCapabilities,
  [`${metaPrefix}logLevel`]: 'info',
};

/** Adds the members of `_meta` that the modern era requires in each request. Members of the caller take precedence. */
export function enveloped(params: object): object {
  const given = '_meta' in params && isObject(params._meta) ? params._meta : {};
  const { [callersMember]: callers } = given;
  const declared = isObject(callers) && { [capabilitiesMember]: { ...ownCapabilities, ...callers } };
  return { ...params, _meta: { ...envelope, ...given, ...declared } };
}

/** Removes members about the message itself from a result, because callers may speak another revision. */
export function removeEnvelope(result: Record<string, unknown>): void {
  if (result['resultType'] === 'complete') delete result['resultType'];
  const meta = result['_meta'];
  if (!isObject(meta)) return;
  const { [serverMember]: _server, ...others } = meta;
  if (Object.keys(others).length > 0) result['_meta'] = others;
  else delete result['_meta'];
}

/** Error code of a server that does not speak the offered revision. */
export const unsupportedRevision = -32022;

/** The revisions that a server names when it refuses the offered one. */
export function namedRevisions(reply: Reply): readonly unknown[] {
  if (!('error' in reply) || reply.error.code !== unsupportedRevision) return [];
  const { data } = reply.error;
  return isObject(data) && Array.isArray(data['supported']) ? data['supported'] : [];
}

/** Reads an answer to `server/discover` as one to `initialize`. @returns undefined without the modern era */
export function readDiscovery(reply: Reply): JsonObject | undefined {
  if (!('result' in reply) || !isObject(reply.result)) return undefined;
  const { supportedVersions, serverInfo, _meta, ...others } = reply.result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernRevision)) return undefined;
  const info = serverInfo ?? (isObject(_meta) ? _meta[serverMember] : undefined);
  return { ...others, serverInfo: info, protocolVersion: modernRevision };
}

/** The handshake of a server without its lists. */
export type Introduction = Omit<Handshake, 'tools'>;

/** Reads an answer to `initialize`. @returns the introduction, or why it is invalid */
export function readIntroduction(reply: Reply): Introduction | string {
  if ('error' in reply) {
    const { code, message } = reply.error;
    const supported = namedRevisions(reply);
    const others = supported.length > 0 ? ` (it speaks ${jsonExcerpt(supported, 200)})` : '';
    return `It answered "initialize" with error ${code}: ${message}${others}`;
  }
  const { result } = reply;
  if (!isObject(result)) return 'It answered "initialize" with a result that is not an object';
  const { protocolVersion } = result;
  if (!legacyRevisions.some((revision) => revision === protocolVersion)) {
    const theirs = jsonExcerpt(protocolVersion ?? null, 100);
    return `It answered "initialize" with protocolVersion ${theirs}; this server speaks MCP ${legacyRevisions.join(', ')}`;
  }
  return introductionIn(result);
}

/** The introduction in a result of `initialize` or `server/discover`. */
export function introductionIn(result: JsonObject): Introduction {
  const { serverInfo } = result;
  const info = isObject(serverInfo) ? serverInfo : {};
  return {
    ...textMember(info, 'name'),
    ...textMember(info, 'version'),
    ...(typeof result.instructions === 'string' && { description: result.instructions }),
    ...(isObject(result.capabilities) && { offers: result.capabilities }),
    ...textMember(result, 'protocolVersion'),
    capabilities: { cancel: true },
  };
}
