import { timeSpan } from './format.js';

/** Starts relative to now, as written in the address (`?since=1h`). */
const starts = {
  '15m': ['Last 15 minutes', 15 * 60_000],
  '1h': ['Last hour', 3_600_000],
  '24h': ['Last 24 hours', 86_400_000],
  '7d': ['Last 7 days', 7 * 86_400_000],
} as const;

type RelativeStart = keyof typeof starts;
export const relativeStarts = Object.keys(starts) as readonly RelativeStart[];
const isRelative = (text: string): text is RelativeStart => Object.hasOwn(starts, text);

/** The start of a range as ISO 8601. @param since a moment, or a start relative to now */
export const sinceMoment = <T extends string | undefined>(since: T, now = Date.now()): T | string =>
  since !== undefined && isRelative(since) ? new Date(now - starts[since][1]).toISOString() : since;

export interface TimeRange {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The range of figures and charts; by default the last hour, like grades. */
export const figuresRange = ({ since, until }: TimeRange): TimeRange => ({
  since: since ?? (until === undefined ? '1h' : undefined),
  until,
});

const dayMs = 86_400_000;

/** Both ends in ms. A range without a start begins 24 hours before its end. */
export function boundsOf({ since, until }: TimeRange): { readonly start: number; readonly end: number } {
  const end = until === undefined ? Date.now() : Date.parse(until);
  return { start: since === undefined ? end - dayMs : Date.parse(sinceMoment(since)), end };
}

/** The last 24 hours of a range that is longer. */
export function lastDayOf(range: TimeRange): TimeRange {
  const { start, end } = boundsOf(range);
  if (end - start <= dayMs) return range;
  return {
    since: range.until === undefined ? '24h' : new Date(end - dayMs).toISOString(),
    until: range.until,
  };
}

/** Whether a moment lies in the range. An unknown moment lies only in "Any time". */
export const isInRange = ({ since, until }: TimeRange, at: string | null): boolean =>
  (since === undefined || (at !== null && at >= sinceMoment(since))) &&
  (until === undefined || (at !== null && at <= until));

/** "Last hour", "Since Thu 26 Nov, 10:30", "Thu 26 Nov, 10:30 – 10:40". */
export function rangeName({ since, until }: TimeRange): string {
  const end = until === undefined ? undefined : Date.parse(until);
  if (since === undefined) return end === undefined ? 'Any time' : `Until ${timeSpan(end)}`;
  if (isRelative(since) && end === undefined) return starts[since][0];
  const start = Date.parse(sinceMoment(since));
  return end === undefined ? `Since ${timeSpan(start)}` : timeSpan(start, end);
}
