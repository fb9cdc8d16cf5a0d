import type { Trace } from './trace.js';

const figures = ['count', 'selfMs', 'totalMs', 'cost', 'time'] as const;

/** Spans of one operation on one call path. Time is that of selfMs with what is below, as is cost: spans at once add up. */
export interface Frame extends Record<(typeof figures)[number], number> {
  readonly name: string;
  readonly operation: string;
  readonly kind: string;
  readonly above?: Frame | undefined;
  readonly below: Map<string, Frame>;
}

const frameOf = (name: string, operation = '', kind = 'other', above?: Frame): Frame => ({
  ...{ name, operation, kind, above, below: new Map() },
  ...{ count: 0, selfMs: 0, totalMs: 0, cost: 0, time: 0 },
});

/** Merges spans by call path. @returns a frame for the trace, above those of its roots */
export function flameOf({ count, parents, starts, durations, costs, ...trace }: Trace): Frame {
  const whole = frameOf('Whole trace');
  const [frames, placed]: [Frame[], Frame[]] = [[], []];
  const reached = Float64Array.from(starts);
  for (let span = 0; span < count; span += 1) {
    const parent = parents[span] ?? -1;
    const [start = 0, lasts = 0] = [starts[span], durations[span]];
    const above = placed[parent] ?? whole;
    const { operation, kind } = trace.typeOf(span);
    const key = `${operation} ${trace.nameOf(span)}`;
    const frame = above.below.get(key) ?? frameOf(trace.nameOf(span), operation, kind, above);
    above.below.set(key, frame);
    if (frame.count === 0) frames.push(frame);
    placed.push(frame);
    frame.count += 1;
    frame.selfMs += lasts;
    frame.totalMs += lasts;
    frame.cost += costs[span] ?? 0;
    // Children stand in the order of their starts: what none of them covers is the parent's own time.
    const from = Math.max(start, reached[parent] ?? Infinity);
    const to = Math.min(start + lasts, (starts[parent] ?? 0) + (durations[parent] ?? 0));
    if (to <= from) continue;
    above.selfMs -= to - from;
    reached[parent] = to;
  }
  // Backwards: a frame stands before those below it.
  for (const frame of frames.reverse()) {
    const { above = whole } = frame;
    above.time += frame.time += frame.selfMs;
    if (above === whole) whole.cost += frame.cost;
  }
  return Object.assign(whole, { count, totalMs: trace.durationMs });
}

/** A frame as it is drawn: its level, and shares of the whole width. */
export type FlameBox = Readonly<{ frame: Frame } & Record<'depth' | 'left' | 'width', number>>;

const maxBoxes = 2_000;
/** Boxes that would be narrower are drawn as one. */
const minWidth = 0.002;

/** Boxes of a frame and of those below it, level by level, each level from left to right. */
export function boxesOf(top: Frame, by: 'time' | 'cost'): FlameBox[] {
  const boxes: FlameBox[] = [{ frame: top, depth: 0, left: 0, width: 1 }];
  // The list grows meanwhile.
  for (const { frame: above, depth, left: start } of boxes) {
    if (boxes.length >= maxBoxes) break;
    const sorted = [...above.below.values()].sort((a, b) => b[by] - a[by]);
    const wide = sorted.filter((frame) => frame[by] >= minWidth * top[by]);
    const drawn = wide.slice(0, maxBoxes - boxes.length - 1);
    const rest = sorted.slice(drawn.length);
    const other = frameOf(`${rest.length} other`, '', 'other', above);
    for (const frame of rest) for (const figure of figures) other[figure] += frame[figure];
    let left = start;
    for (const frame of [...drawn, other]) {
      const width = frame[by] / top[by];
      if (width > 0) boxes.push({ frame, depth: depth + 1, left, width });
      left += width;
    }
  }
  return boxes;
}
