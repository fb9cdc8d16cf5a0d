import { isDeeperThan } from '../common/json-depth.js';
import type { JsonObject } from '../common/json.js';
import { type NoticeLevel, noticeLevels, type ToolNotice } from '../common/tool-notice.js';

/** Characters of a notice's message that are kept. */
export const maxNoticeChars = 4_096;
/** Levels of a notice's data: deeper ones could not be written again. */
const maxDataLevels = 64;

/** A notice and the call it names, if it names one. */
export interface AddressedNotice {
  readonly notice: ToolNotice;
  readonly id?: string;
  readonly executionId?: string;
}

/**
 * Reads a notification of a tool.
 * @returns `unknown` for a method that is none of ours (JSON-RPC: ignored), `malformed` for one without its members
 */
export function readNotice(method: unknown, params: unknown): AddressedNotice | 'unknown' | 'malformed' {
  if (method !== 'progress' && method !== 'log') return 'unknown';
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return 'malformed';
  const members = params as JsonObject;
  const notice = method === 'progress' ? readProgress(members) : readLog(members);
  return notice ? { notice, ...addressOf(members) } : 'malformed';
}

export function readProgress({ progress, total, message }: JsonObject): ToolNotice | undefined {
  if (typeof progress !== 'number') return undefined;
  return {
    type: 'progress',
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message: message.slice(0, maxNoticeChars) }),
  };
}

export function readLog({ level, message, data }: JsonObject): ToolNotice | undefined {
  if (typeof message !== 'string') return undefined;
  return {
    type: 'log',
    level: levelOf(level),
    message: message.slice(0, maxNoticeChars),
    ...(data !== undefined && !isDeeperThan(data, maxDataLevels) && { data }),
  };
}

/** Words of syslog and MCP for the same. */
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
