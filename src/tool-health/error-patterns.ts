import type { ErrorPatternsView, MessagePatternView } from './error-patterns.dto.js';
import { messagePattern } from './message-pattern.js';

/** A failed execution as far as patterns need it. */
export interface FailedExecution {
  readonly errorType?: string | null;
  readonly errorMessage?: string | null;
  readonly recordedAt: Date;
}

const messagesFrom = 5;

/**
 * Groups a tool's failures, newest first, by their type and by what they say. Groups that are equally frequent keep the
 * order of their last occurrence.
 */
export function errorPatterns(toolName: string, failures: readonly FailedExecution[]): ErrorPatternsView {
  const byType = Map.groupBy(failures, ({ errorType }) => errorType || 'unknown');
  return {
    toolName,
    totalErrors: failures.length,
    patterns: [...byType]
      .map(([errorType, { length: count }]) => ({ errorType, count }))
      .sort((a, b) => b.count - a.count),
    recentMessages: failures.slice(0, messagesFrom).flatMap(({ errorMessage }) => errorMessage || []),
    messages: [...byType]
      .flatMap(([errorType, ofType]) => messagesOf(errorType, ofType))
      .sort((a, b) => b.count - a.count),
  };
}

function messagesOf(errorType: string, failures: readonly FailedExecution[]): MessagePatternView[] {
  const byMessage = Map.groupBy(failures, ({ errorMessage }) => messagePattern(errorMessage ?? ''));
  return [...byMessage].map(([message, same]) => {
    const [newest, oldest] = [same[0], same.at(-1)];
    return {
      errorType,
      message,
      count: same.length,
      firstSeen: oldest?.recordedAt.toISOString() ?? '',
      lastSeen: newest?.recordedAt.toISOString() ?? '',
      example: newest?.errorMessage ?? '',
    };
  });
}
