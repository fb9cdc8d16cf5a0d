import { spans } from './rollup.sql.js';

/** Milliseconds since 1970; the end is excluded. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The parts that a period is read from: cells of each length, and executions where it begins or ends within a minute.
 */
export interface PeriodParts {
  readonly cells: readonly (Span & { readonly seconds: number })[];
  readonly rows: readonly Span[];
}

/**
 * Divides a period so that every moment lies in exactly one part and as much as possible in long cells.
 * @param since included
 * @param until included, to the millisecond
 */
export function periodParts(since: Date, until: Date): PeriodParts {
  const cells: (Span & { seconds: number })[] = [];
  const rows: Span[] = [];
  const take = (from: number, to: number, shorter: readonly number[]): void => {
    if (from >= to) return;
    const seconds = shorter.at(-1);
    if (seconds === undefined) return void rows.push({ from, to });
    const ms = seconds * 1_000;
    const [first, last] = [Math.ceil(from / ms) * ms, Math.floor(to / ms) * ms];
    if (first >= last) return take(from, to, shorter.slice(0, -1));
    take(from, first, shorter.slice(0, -1));
    cells.push({ seconds, from: first, to: last });
    take(last, to, shorter.slice(0, -1));
  };
  take(since.getTime(), until.getTime() + 1, spans);
  return { cells, rows };
}
