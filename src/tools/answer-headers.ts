import type { CallAnswer } from '../tool-contract/tool-call.js';
import { rateLimitHeaders } from '../budgets/rate-limit-headers.js';

const replayed = { 'Idempotent-Replayed': 'true' };

/** The headers that an answer carries beside its outcome; undefined: none. */
export function headersOf({
  budget,
  replayed: isReplay,
}: Pick<CallAnswer, 'budget' | 'replayed'>): Record<string, string> | undefined {
  if (isReplay) return replayed;
  return budget && rateLimitHeaders(budget);
}
