import { jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { manifest } from '../../base/common/project.js';
import { text } from '../process-pool/own-dialect.js';
import type { Handshake, Reply } from '../process-pool/pool.types.js';
import type { RepeatedMember } from './request-headers.js';

/** `legacy`: a session that begins with `initialize` · `modern`: no session, each request says everything itself. */
export type Era = 'legacy' | 'modern';

/** The revisions of MCP that begin with `initialize`, the newest first. */
export const legacyRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export const modernRevision = '2026-07-28';

/** Time for a server to answer `server/discover`: an old one may answer nothing to a request that it does not know. */
export const discoverMs = 4_000;

/** Facts about one MCP server that its sessions share. */
export interface McpPeer {
  /** Era of its last session, in which the next one begins. */
  era: Era;
  /** Whether it may speak the legacy era beside the modern one. */
  speaksBoth: boolean;
  /** Members of its tools' inputs that a call repeats in headers, by tool. */
  readonly repeated: Map<string, readonly RepeatedMember[]>;
}

/** @param era to begin with: an old program may end at a request that comes before `initialize`, a URL answers an error */
export const newPeer = (era: Era): McpPeer => ({
  era,
  speaksBoth: era === 'modern',
  repeated: new Map(),
});

/** Whether a call's own caller can be asked is found out when its server asks. */
export const clientCapabilities = { roots: {}, elicitation: { form: {}, url: {} } };
export const clientInfo = { name: 'toolkeeper', title: 'Toolkeeper', version: manifest().version };

const prefix = 'io.modelcontextprotocol/';
export const versionMember = `${prefix}protocolVersion`;
const serverMember = `${prefix}serverInfo`;
const capabilitiesMember = `${prefix}clientCapabilities`;
/** Member of `_meta` with the capabilities of the caller of a call: the modern era declares them with each request. */
export const callersMember = 'toolkeeper/clientCapabilities';
/** Member of `_meta` of a call whose caller is asked while it runs. */
export const liveMember = 'toolkeeper/asksWhileItRuns';
const ownCapabilities = { extensions: { [`${prefix}tasks`]: {} } };
const envelope = {
  [versionMember]: modernRevision,
  [`${prefix}clientInfo`]: clientInfo,
  [capabilitiesMember]: ownCapabilities,
  [`${prefix}logLevel`]: 'info',
};

/** Adds to a request of the modern era what a session of the legacy era says once. Members of the caller win. */
export function enveloped(params: object): object {
  const own = '_meta' in params && isObject(params._meta) ? params._meta : {};
  const { [callersMember]: callers } = own;
  const declared = isObject(callers) && { [capabilitiesMember]: { ...ownCapabilities, ...callers } };
  return { ...params, _meta: { ...envelope, ...own, ...declared } };
}

/** Removes from a result what is about the message alone: callers may speak another revision. */
export function openEnvelope(result: Record<string, unknown>): void {
  if (result['resultType'] === 'complete') delete result['resultType'];
  const meta = result['_meta'];
  if (!isObject(meta)) return;
  const { [serverMember]: _server, ...others } = meta;
  if (Object.keys(others).length > 0) result['_meta'] = others;
  else delete result['_meta'];
}

export const unsupportedRevision = -32022;

/** Revisions that a server names when it refuses the one that was offered. */
export function namedRevisions(reply: Reply): readonly unknown[] {
  if (!('error' in reply) || reply.error.code !== unsupportedRevision) return [];
  const { data } = reply.error;
  return isObject(data) && Array.isArray(data['supported']) ? data['supported'] : [];
}

/** @returns the members that `initialize` answers too; undefined if the server does not speak the modern era */
export function readDiscovery(reply: Reply): JsonObject | undefined {
  if (!('result' in reply) || !isObject(reply.result)) return undefined;
  const { supportedVersions, serverInfo, _meta, ...others } = reply.result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernRevision)) return undefined;
  const info = serverInfo ?? (isObject(_meta) ? _meta[serverMember] : undefined);
  return { ...others, serverInfo: info, protocolVersion: modernRevision };
}

/** What a server says about itself at the beginning. */
export type Introduction = Omit<Handshake, 'tools'>;

export function readIntroduction(reply: Reply): Introduction | string {
  if ('error' in reply) {
    const { code, message } = reply.error;
    const named = namedRevisions(reply);
    const others = named.length > 0 ? ` (it speaks ${jsonExcerpt(named, 200)})` : '';
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

export function introductionIn(result: JsonObject): Introduction {
  const { serverInfo } = result;
  const info = isObject(serverInfo) ? serverInfo : {};
  return {
    ...text(info, 'name'),
    ...text(info, 'version'),
    ...(typeof result.instructions === 'string' && { description: result.instructions }),
    ...(isObject(result.capabilities) && { offers: result.capabilities }),
    ...text(result, 'protocolVersion'),
    capabilities: { cancel: true },
  };
}
