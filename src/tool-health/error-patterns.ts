import { messagePattern } from './message-pattern.js';

/** A failed execution as far as patterns need it. */
export interface FailedExecution {
  readonly errorType?: string | null;
  readonly errorMessage?: string | null;
  readonly recordedAt: Date;
}

/** Failures of one type whose messages differ in numbers, ids, paths, addresses and quotations at most. */
export interface MessagePattern {
  readonly errorType: string;
  /** Empty: they say nothing. */
  readonly message: string;
  readonly count: number;
  /** ISO 8601, among the failures that were read. */
  readonly firstSeen: string;
  readonly lastSeen: string;
  /** The newest of them as it was said. */
  readonly example: string;
}

export interface ErrorPatterns {
  readonly toolName: string;
  readonly totalErrors: number;
  /** Most frequent first; types seen equally often keep the order of their last occurrence. */
  readonly patterns: readonly { readonly errorType: string; readonly count: number }[];
  /** The messages among the five newest failures. */
  readonly recentMessages: readonly string[];
  /** Most frequent first. */
  readonly messages: readonly MessagePattern[];
}

const messagesFrom = 5;

/** Groups a tool's failures, newest first, by their type and by what they say. */
export function errorPatterns(toolName: string, failures: readonly FailedExecution[]): ErrorPatterns {
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

function messagesOf(errorType: string, failures: readonly FailedExecution[]): MessagePattern[] {
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
