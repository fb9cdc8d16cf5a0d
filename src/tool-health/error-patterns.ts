import type { ToolStats } from '../records/executions/queries/tool-stats.js';
import type { FailureGroup } from '../records/executions/tool-metrics.repository.js';
import type { ErrorPatternsView, MessagePatternView } from './tool-health.dto.js';

const messagesFrom = 5;

/**
 * A tool's failures by type, and by type and folded message. Messages that are equally frequent are in the order of their
 * last occurrence.
 */
export function errorPatterns(
  { toolName, ...stats }: ToolStats,
  groups: readonly FailureGroup[],
  limit: number,
): ErrorPatternsView {
  const types = Object.entries('errorTypes' in stats ? stats.errorTypes : {}).sort(([, a], [, b]) => b - a);
  const newestFirst = groups.toSorted((a, b) => b.lastSeen.getTime() - a.lastSeen.getTime());
  const byPattern = Map.groupBy(newestFirst, ({ errorType, newest: [one] }) =>
    JSON.stringify([errorType, messagePattern(one?.message ?? '')]),
  );
  const newest = groups.flatMap((group) => group.newest).sort((a, b) => b.at - a.at);
  return {
    toolName,
    totalErrors: types.reduce((sum, [, count]) => sum + count, 0),
    patterns: types.map(([errorType, count]) => ({ errorType, count })),
    recentMessages: newest.slice(0, messagesFrom).flatMap(({ message }) => message || []),
    messages: [...byPattern.values()]
      .map(patternOf)
      .sort((a, b) => b.count - a.count)
      .slice(0, limit),
  };
}

/** @param groups of one pattern, the newest first */
function patternOf(groups: readonly FailureGroup[]): MessagePatternView {
  const [{ errorType, lastSeen, newest } = {}] = groups;
  const example = newest?.[0]?.message ?? '';
  return {
    errorType: errorType ?? '',
    message: messagePattern(example),
    count: groups.reduce((sum, { count }) => sum + count, 0),
    firstSeen: new Date(Math.min(...groups.map(({ firstSeen }) => firstSeen.getTime()))).toISOString(),
    lastSeen: lastSeen?.toISOString() ?? '',
    example,
    executionId: newest?.[0]?.id ?? '',
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
