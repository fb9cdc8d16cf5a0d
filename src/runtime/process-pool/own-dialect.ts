import { isDeeperThan, jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import type { AddressedNotice, Capabilities, Dialect, Handshake, Reply } from './pool.types.js';
import { type NoticeLevel, noticeLevels, type ToolNotice } from '../../base/common/tool-notice.js';

/** Supported protocol versions, newest first. 1.1 adds notifications and capabilities to 1.0. */
export const protocolVersions = ['1.1', '1.0'] as const;

/** Parameters of `initialize`. `protocolVersion` stays 1.0, which older tools may require; newer ones choose from the list. */
export const initializeParams = { protocolVersion: '1.0', supportedVersions: protocolVersions } as const;

/** The protocol of docs/tools/protocol.md. */
export const ownDialect: Dialect = {
  methods: { execute: 'execute', health: 'health' },
  begin(sender, onHandshake) {
    sender.request('initialize', initializeParams, (reply) => onHandshake(readHandshake(reply)));
    return { handle: () => undefined };
  },
  readNotice,
  cancel: (id, reason) => ({ method: 'cancel', params: { id, reason } }),
  asksAfterCancel: false,
};

/** @returns the handshake, or a sentence that says why the answer is invalid */
export function readHandshake(reply: Reply): Handshake | string {
  if ('error' in reply) {
    return `It answered "initialize" with error ${reply.error.code}: ${reply.error.message}`;
  }
  const { result } = reply;
  if (!isObject(result)) return 'It answered "initialize" with a result that is not an object';
  const { inputSchema, maxConcurrency, protocolVersion } = result;
  if (protocolVersion !== undefined && !isSupported(protocolVersion)) return unsupported(protocolVersion);
  return {
    ...textMember(result, 'name'),
    ...textMember(result, 'description'),
    ...textMember(result, 'version'),
    ...(isObject(inputSchema) && { inputSchema }),
    ...(isPositiveInteger(maxConcurrency) && { maxConcurrency }),
    ...textMember(result, 'protocolVersion'),
    ...readCapabilities(result.capabilities),
  };
}

const isPositiveInteger = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;

const isSupported = (version: unknown): boolean => protocolVersions.some((each) => each === version);

function unsupported(version: unknown): string {
  const supported = protocolVersions.map((each) => `"${each}"`).join(' and ');
  const theirs = jsonExcerpt(version, 100);
  return `It answered "initialize" with protocolVersion ${theirs}; this server speaks ${supported}`;
}

/** A capability is declared by `true` or by an object, which leaves room for future options. */
function readCapabilities(declared: unknown): { readonly capabilities?: Capabilities } {
  if (!isObject(declared)) return {};
  const has = (name: keyof Capabilities): boolean => declared[name] === true || isObject(declared[name]);
  const capabilities: Capabilities = {
    ...(has('cancel') && { cancel: true }),
    ...(has('shutdown') && { shutdown: true }),
  };
  return Object.keys(capabilities).length > 0 ? { capabilities } : {};
}

/** The member `key` alone, for spreading; nothing if it is no text. */
export function textMember<K extends string>(
  from: Readonly<Record<string, unknown>>,
  key: K,
): { [P in K]?: string } {
  const value = from[key];
  return typeof value === 'string' ? ({ [key]: value } as { [P in K]: string }) : {};
}

/** Maximum characters of a notice's message. */
export const maxNoticeChars = 4_096;
/** Maximum nesting of a notice's data: deeper data could not be serialised again. */
const maxDataLevels = 64;

/** Reads a notification. @returns `unknown` for other methods, which JSON-RPC ignores; `malformed` without required members */
export function readNotice(method: unknown, params: unknown): AddressedNotice | 'unknown' | 'malformed' {
  if (method !== 'progress' && method !== 'log') return 'unknown';
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return 'malformed';
  const members = params as JsonObject;
  const notice = method === 'progress' ? readProgress(members) : readLog(members);
  return notice ? { notice, ...addressOf(members) } : 'malformed';
}

/** Reads the parameters of a progress notice; undefined if they are invalid. */
export function readProgress({ progress, total, message }: JsonObject): ToolNotice | undefined {
  if (typeof progress !== 'number') return undefined;
  return {
    type: 'progress',
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message: message.slice(0, maxNoticeChars) }),
  };
}

/** Reads the parameters of a log notice; undefined if they are invalid. */
export function readLog({ level, message, data }: JsonObject): ToolNotice | undefined {
  if (typeof message !== 'string') return undefined;
  return {
    type: 'log',
    level: levelOf(level),
    message: message.slice(0, maxNoticeChars),
    ...(data !== undefined && !isDeeperThan(data, maxDataLevels) && { data }),
  };
}

/** Level names of syslog and MCP. */
const otherLevels = new Map<unknown, NoticeLevel>([
  ['notice', 'info'],
  ['warning', 'warn'],
  ['critical', 'error'],
  ['alert', 'error'],
  ['emergency', 'error'],
]);

function levelOf(word: unknown): NoticeLevel {
  return noticeLevels.find((level) => level === word) ?? otherLevels.get(word) ?? 'info';
}

function addressOf({ id, executionId }: JsonObject): { id?: string; executionId?: string } {
  if (typeof id === 'string' || typeof id === 'number') return { id: String(id) };
  return typeof executionId === 'string' ? { executionId } : {};
}
