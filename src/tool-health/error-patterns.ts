import type { ToolStats } from '../tool-metrics/queries/tool-stats.js';
import type { FailureGroup } from '../tool-metrics/tool-metrics.repository.js';
import type { ErrorPatternsView, MessagePatternView } from './tool-health.shapes.js';

/** A tool's failures by type, the most frequent first. */
export function countedTypes(stats: ToolStats): Pick<ErrorPatternsView, 'totalErrors' | 'patterns'> {
  const counts = Object.entries('errorTypes' in stats ? stats.errorTypes : {});
  return {
    totalErrors: counts.reduce((sum, [, count]) => sum + count, 0),
    patterns: counts.map(([errorType, count]) => ({ errorType, count })).sort((a, b) => b.count - a.count),
  };
}

/**
 * Patterns of groups of failures by type and folded message. Patterns that are equally frequent keep the order of their
 * last occurrence.
 */
export function messagePatterns(groups: readonly FailureGroup[]): MessagePatternView[] {
  const newestFirst = groups.toSorted((a, b) => b.lastSeen.getTime() - a.lastSeen.getTime());
  const byPattern = Map.groupBy(
    newestFirst,
    ({ errorType, errorMessage }) => `${errorType} ${messagePattern(errorMessage ?? '')}`,
  );
  return [...byPattern.values()].map(patternOf).sort((a, b) => b.count - a.count);
}

/** @param groups of one pattern, the newest first */
function patternOf(groups: readonly FailureGroup[]): MessagePatternView {
  const [{ errorType, errorMessage, lastSeen, metricId }] = groups as [FailureGroup];
  return {
    errorType,
    message: messagePattern(errorMessage ?? ''),
    count: groups.reduce((sum, { count }) => sum + count, 0),
    firstSeen: new Date(Math.min(...groups.map(({ firstSeen }) => firstSeen.getTime()))).toISOString(),
    lastSeen: lastSeen.toISOString(),
    example: errorMessage ?? '',
    executionId: metricId,
  };
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
