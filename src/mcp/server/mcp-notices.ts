import type { ServerSentEvent } from '../../streams/sse.js';
import type { ToolNotice } from '../../common/tool-notice.js';
import { type Notification, notificationOf } from './mcp-messages.js';
import { messageEvent } from './mcp-streams.js';

const levels = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const;
/** MCP's, the least first. */
const mcpLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/**
 * A notice of a tool as its client hears it.
 * @param leastLevel the place of the least level of logs that the client wants
 * @returns undefined for what it does not want to hear
 */
export function noticeMessage(
  notice: ToolNotice,
  progressToken: unknown,
  leastLevel: number,
): Notification | undefined {
  if (notice.type === 'progress') {
    if (progressToken === undefined) return undefined;
    const { type: _type, ...progress } = notice;
    return notificationOf('notifications/progress', { progressToken, ...progress });
  }
  const { level, message, data } = notice;
  if (mcpLevels.indexOf(levels[level]) < leastLevel) return undefined;
  const told = data === undefined ? message : { message, data };
  return notificationOf('notifications/message', { level: levels[level], data: told });
}

/**
 * The place of the least level that a client wants to hear, from 2026-07-28 on.
 * @param level one of MCP's; undefined: it wants to hear none
 */
export const wantedLevel = (level: unknown): number =>
  level === undefined ? Infinity : mcpLevels.findIndex((each) => each === level);

export function missedNotices(notices: number): ServerSentEvent {
  const data = `${notices} notices were left out: the client reads too slowly`;
  return messageEvent(notificationOf('notifications/message', { level: 'warning', data }));
}
