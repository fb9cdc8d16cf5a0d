import type { Trace } from './trace.js';

const figures = ['count', 'selfMs', 'totalMs', 'cost', 'time'] as const;

/** All spans of one operation on one call path. */
export class Frame implements Record<(typeof figures)[number], number> {
  readonly below = new Map<string, Frame>();
  count = 0;
  /** Milliseconds in which nothing below the spans ran. */
  selfMs = 0;
  /** Durations of the spans. */
  totalMs = 0;
  /** US dollars, with what is below. */
  cost = 0;
  /** Self times with those of all frames below: what runs at once adds up. */
  time = 0;

  constructor(
    readonly name: string,
    readonly operation: string,
    readonly kind: string,
    readonly above?: Frame,
  ) {}

  add(more: Record<(typeof figures)[number], number>): void {
    for (const figure of figures) this[figure] += more[figure];
  }
}

/** Merges spans by call path. @returns a frame for the trace, above those of its roots */
export function flameOf(trace: Trace): Frame {
  const selfs = selfTimesOf(trace);
  const whole = new Frame('Whole trace', '', 'other');
  const frames: Frame[] = [];
  const frameOf: Frame[] = [];
  for (let span = 0; span < trace.count; span += 1) {
    const above = frameOf[trace.parents[span] ?? -1] ?? whole;
    const { operation, kind } = trace.typeOf(span);
    const name = trace.nameOf(span);
    const key = `${operation} ${name}`;
    const frame = above.below.get(key) ?? new Frame(name, operation, kind, above);
    if (frame.count === 0) frames.push(frame);
    above.below.set(key, frame);
    const [selfMs = 0, totalMs = 0, cost = 0] = [selfs[span], trace.durations[span], trace.costs[span]];
    frame.add({ count: 1, selfMs, totalMs, cost, time: selfMs });
    frameOf.push(frame);
  }
  // Backwards: a frame stands before those below it.
  for (const { above = whole, time, cost } of frames.reverse()) {
    above.time += time;
    if (above === whole) whole.cost += cost;
  }
  return Object.assign(whole, { count: trace.count, totalMs: trace.durationMs });
}

/** Milliseconds of each span in which none of its children ran. Children stand in the order of their starts. */
function selfTimesOf({ count, parents, starts, durations }: Trace): Float64Array {
  const selfs = Float64Array.from(durations);
  const reached = Float64Array.from(starts);
  const endOf = (span: number): number => (starts[span] ?? 0) + (durations[span] ?? 0);
  for (let span = 0; span < count; span += 1) {
    const parent = parents[span] ?? -1;
    const from = Math.max(starts[span] ?? 0, reached[parent] ?? Infinity);
    const to = Math.min(endOf(span), endOf(parent));
    if (to <= from) continue;
    selfs[parent] = (selfs[parent] ?? 0) - (to - from);
    reached[parent] = to;
  }
  return selfs;
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
    const other = new Frame(`${rest.length} other`, '', 'other', above);
    for (const frame of rest) other.add(frame);
    let left = start;
    for (const frame of [...drawn, other]) {
      const width = frame[by] / top[by];
      if (width > 0) boxes.push({ frame, depth: depth + 1, left, width });
      left += width;
    }
  }
  return boxes;
}
