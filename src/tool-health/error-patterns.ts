import type { ErrorPatternsView, MessagePatternView } from './tool-health.shapes.js';

/** A failed execution as far as patterns need it. */
export interface FailedExecution {
  readonly metricId: string;
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
      executionId: newest?.metricId ?? '',
    };
  });
}

/** The parts in which two occurrences of one failure differ, most specific first; each expression takes linear time. */
const folded: readonly (readonly [RegExp, string])[] = [
  // A quotation, not the apostrophe of "can't".
  [/(?<!\w)(?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)(?!\w)/g, '<text>'],
  [/\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s<>"']+/gi, '<url>'],
  [/(?<![\w/\\<])(?:[a-z]:|\.{1,2}|~)?(?:[/\\][\w.@%+~-]+)+[/\\]?/gi, '<path>'],
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, '<id>'],
  [/\b0x[\da-f]+\b/gi, '<id>'],
  [/\b(?=[\da-f]*\d)(?=\d*[a-f])[\da-f]{8,}\b/gi, '<id>'],
  [/\d+(?:[.,:]\d+)*/g, '<n>'],
];

/**
 * An error message without what changes from one occurrence to the next: quotations, addresses, paths, ids, numbers.
 */
export function messagePattern(message: string): string {
  return folded
    .reduce((text, [what, sign]) => text.replace(what, sign), message)
    .replace(/\s+/g, ' ')
    .trim();
}
