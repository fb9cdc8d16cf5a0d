/** A change from one state to another. */
export interface Change<Kind extends string> {
  readonly at: string;
  readonly from: Kind;
  readonly to: Kind;
  readonly why: string;
}

/** A period in one state, positioned on a line of 1,000 units. */
export interface Stretch<Kind extends string> {
  readonly kind: Kind;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Absent if the state began before the first known change. */
  readonly why?: string;
  readonly left: number;
  readonly width: number;
}

/** Minimum width, so that short states stay visible. */
const minWidth = 4;

/**
 * @param changes oldest first; those before `start` only determine the initial state, those after `end` are left out
 * @param start start of the line, ms
 * @param end end of the line, ms
 */
export function stretches<Kind extends string>(
  changes: readonly Change<Kind>[],
  start: number,
  end: number,
): Stretch<Kind>[] {
  const [first] = changes;
  if (!first) return [];
  const unit = 1_000 / Math.max(1, end - start);
  const states: { kind: Kind; at: number; why?: string }[] = [
    { kind: first.from, at: -Infinity },
    ...changes.flatMap(({ to, at, why }) =>
      Date.parse(at) < end ? { kind: to, at: Date.parse(at), why } : [],
    ),
  ];
  return states.flatMap(({ at, ...state }, index) => {
    const startedAt = Math.max(start, at);
    const endedAt = states[index + 1]?.at ?? end;
    if (endedAt <= start) return [];
    const width = Math.max(minWidth, (endedAt - startedAt) * unit);
    return [{ ...state, startedAt, endedAt, left: (startedAt - start) * unit, width }];
  });
}
