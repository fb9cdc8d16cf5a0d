import { sanitisedText } from '../../common/pg-text.js';
import type { Reply } from '../../process-pool/pool.types.js';
import type { CustomTool } from './custom-tool.entity.js';

const maxMessage = 4_096;

export type StatedHealth = Pick<CustomTool, 'healthStatus' | 'errorMessage'>;

/** Words for a tool's row that may come from the tool itself: its stderr, its answer to `health`. */
export function storableMessage(text: string): string {
  return sanitisedText(text).slice(0, maxMessage);
}

/** The condition that an answer to `health` tells: without a known status the tool is healthy, since it is alive. */
export function healthOf(reply: Reply): StatedHealth {
  if ('error' in reply) {
    const { code, message } = reply.error;
    // -32601: it has no such method.
    return code === -32601 ? wellNow : { healthStatus: 'degraded', errorMessage: message };
  }
  const { status, message } = (reply.result ?? {}) as { status?: unknown; message?: unknown };
  if (status !== 'degraded' && status !== 'unhealthy') return wellNow;
  return { healthStatus: status, errorMessage: typeof message === 'string' ? message : null };
}

/**
 * The condition of a tool that has just answered `initialize`.
 * @param health its answer to `health`; undefined: none within the time of a trial start, which is no fault yet
 */
export function answeredNow(health: Reply | undefined) {
  const { healthStatus, errorMessage } = health ? healthOf(health) : wellNow;
  const reason = errorMessage === null ? null : storableMessage(errorMessage);
  return { healthStatus, errorMessage: reason, lastHealthCheck: new Date() };
}

/** The condition of a tool that cannot be started. */
export function brokenBy(reason: string) {
  const errorMessage = storableMessage(reason);
  return { status: 'error', healthStatus: 'unhealthy', lastHealthCheck: new Date(), errorMessage } as const;
}

const wellNow: StatedHealth = { healthStatus: 'healthy', errorMessage: null };
