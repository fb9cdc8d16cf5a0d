/** A failed execution as far as patterns need it. */
export interface FailedExecution {
  readonly errorType?: string | null;
  readonly errorMessage?: string | null;
}

export interface ErrorPatterns {
  readonly toolName: string;
  readonly totalErrors: number;
  /** Most frequent first; types seen equally often keep the order of their last occurrence. */
  readonly patterns: readonly { readonly errorType: string; readonly count: number }[];
  /** The messages among the five newest failures. */
  readonly recentMessages: readonly string[];
}

const messagesFrom = 5;

/** Groups a tool's failures, newest first, by their type (seed 000). */
export function errorPatterns(toolName: string, failures: readonly FailedExecution[]): ErrorPatterns {
  const counts = new Map<string, number>();
  for (const { errorType } of failures) {
    const type = errorType || 'unknown';
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return {
    toolName,
    totalErrors: failures.length,
    patterns: [...counts]
      .map(([errorType, count]) => ({ errorType, count }))
      .sort((a, b) => b.count - a.count),
    recentMessages: failures.slice(0, messagesFrom).flatMap(({ errorMessage }) => errorMessage || []),
  };
}
