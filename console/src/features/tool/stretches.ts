type Kind = 'closed' | 'open' | 'half_open';

/** A time in one state, on a line of 1,000 units from the first to now. */
export interface Stretch {
  readonly kind: Kind;
  readonly startedAt: number;
  readonly from: number;
  readonly width: number;
}

interface Change {
  readonly at: string;
  readonly from: Kind;
  readonly to: Kind;
}

/** However short a state was, it can be seen. */
const least = 4;

/** @param history changes, oldest first; the time before the first is shown for a tenth of the line */
export function stretches(state: Kind, history: readonly Change[], now: number): Stretch[] {
  const [first] = history;
  if (!first) return [];
  const firstAt = Date.parse(first.at);
  const start = firstAt - Math.max(1_000, (now - firstAt) / 9);
  const unit = 1_000 / Math.max(1, now - start);
  const starts = [
    { kind: first.from, at: start },
    ...history.map(({ at, to }, index) => ({
      kind: index === history.length - 1 ? state : to,
      at: Date.parse(at),
    })),
  ];
  return starts.map(({ kind, at }, index) => {
    const end = starts[index + 1]?.at ?? now;
    return { kind, startedAt: at, from: (at - start) * unit, width: Math.max(least, (end - at) * unit) };
  });
}
