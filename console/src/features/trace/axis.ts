import type { Trace } from './trace.js';

/** A stretch of time, in milliseconds from the start of the trace. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Places times on a line of the length 1. */
export interface Axis extends Range {
  /** Gaps that are drawn narrow, because nothing ran in them. */
  readonly folds: readonly Range[];
  readonly placeOf: (ms: number) => number;
  readonly timeAt: (place: number) => number;
}

/** Gaps above this share of the whole are folded. */
const minGap = 0.05;
const foldWidth = 0.015;

/** Times in which no span ran that has none below it: what waits for others does nothing by itself. */
export function gapsIn({ count, starts, durations, childCounts, durationMs }: Trace): Range[] {
  const leaves: number[] = [];
  for (let span = 0; span < count; span += 1) if (childCounts[span] === 0) leaves.push(span);
  const startOf = (span: number): number => starts[span] ?? 0;
  leaves.sort((a, b) => startOf(a) - startOf(b));
  const gaps: Range[] = [];
  let reached = 0;
  const note = (until: number): void => {
    if (until - reached > durationMs * minGap) gaps.push({ from: reached, to: until });
  };
  for (const span of leaves) {
    note(startOf(span));
    reached = Math.max(reached, startOf(span) + (durations[span] ?? 0));
  }
  note(durationMs);
  return gaps;
}

/** @param gaps to fold, in order, not overlapping */
export function axisOf({ from, to }: Range, gaps: readonly Range[]): Axis {
  const length = Math.max(to - from, 0.001);
  const folds = gaps
    .map((gap) => ({ from: Math.max(gap.from, from), to: Math.min(gap.to, to) }))
    .filter((gap) => gap.to - gap.from > length * minGap);
  const folded = folds.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  // A trace in which nothing but gaps is seen keeps its times as they are.
  const scale = folded < length ? (1 - folds.length * foldWidth) / (length - folded) : 0;
  if (scale <= 0) return axisOf({ from, to }, []);
  const times = [from, ...folds.flatMap((gap) => [gap.from, gap.to]), to];
  const places: number[] = [0];
  for (let n = 1; n < times.length; n += 1) {
    const isFold = n % 2 === 0;
    const step = isFold ? foldWidth : ((times[n] ?? 0) - (times[n - 1] ?? 0)) * scale;
    places.push((places[n - 1] ?? 0) + step);
  }
  return {
    from,
    to,
    folds,
    placeOf: (ms) => between(times, places, ms),
    timeAt: (place) => between(places, times, place),
  };
}

/** Maps a value from one ascending list to another one of the same length, linearly between entries. */
function between(of: readonly number[], into: readonly number[], value: number): number {
  const next = of.findIndex((each) => each >= value);
  if (next === 0) return into[0] ?? 0;
  if (next < 0) return into.at(-1) ?? 0;
  const [low, high] = [of[next - 1] ?? 0, of[next] ?? 0];
  const share = high === low ? 0 : (value - low) / (high - low);
  const [first, last] = [into[next - 1] ?? 0, into[next] ?? 0];
  return first + share * (last - first);
}
