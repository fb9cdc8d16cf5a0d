import type { SkeletonView } from '../../lib/api-types.js';

/** Bits of a span's flags, as the server sets them. */
export const flag = { error: 1, semantic: 2, execution: 4 } as const;

const idOfExecution = 36;

/**
 * The spans of a trace in typed arrays, so that 50,000 of them take a few megabytes. A span is its place in them: its
 * parent stands before its children, and a span before what is below it (pre-order).
 */
export interface Trace {
  readonly count: number;
  /** Spans that the trace has on the server. */
  readonly total: number;
  readonly startUs: number;
  /** From the start of the first span to the end of the last one. */
  readonly durationMs: number;
  readonly parents: Int32Array;
  /** The place after the last span below. */
  readonly ends: Int32Array;
  readonly depths: Uint16Array;
  readonly childCounts: Int32Array;
  /** Position among the children of the same parent, from 1. */
  readonly positions: Int32Array;
  readonly starts: Float64Array;
  readonly durations: Float64Array;
  /** Totals of the span and all spans below it. */
  readonly costs: Float64Array;
  readonly tokens: Float64Array;
  readonly flags: Uint8Array;
  readonly rootCount: number;
  readonly idOf: (span: number) => string;
  /** @param id of the span, or of its execution @returns -1 if there is none */
  readonly placeOf: (id: string) => number;
  readonly nameOf: (span: number) => string;
  readonly typeOf: (span: number) => SkeletonView['types'][number];
  /** The pattern of a semantic failure. */
  readonly patternOf: (span: number) => string | undefined;
  /** @returns spans whose name, operation or id contains a text, in order */
  readonly search: (text: string) => Int32Array;
}

/** Reads the columns of the server, which are by start, into pre-order. */
export function traceOf(view: SkeletonView): Trace {
  const count = view.spans;
  const { order, parents } = preOrder(view.parents);
  const ints = (): Int32Array => new Int32Array(count);
  const floats = (): Float64Array => new Float64Array(count);
  const [ends, childCounts, positions] = [ints(), ints(), ints()];
  const [starts, durations, costs, tokens] = [floats(), floats(), floats(), floats()];
  const depths = new Uint16Array(count);
  const flags = new Uint8Array(count);
  const startsByTime = runningSum(view.starts_after_ms);
  let [rootCount, durationMs] = [0, 0];
  for (let span = 0; span < count; span += 1) {
    const [row, parent] = [order[span] ?? 0, parents[span] ?? -1];
    starts[span] = startsByTime[row] ?? 0;
    durations[span] = view.durations_ms[row] ?? 0;
    costs[span] = view.costs[row] ?? 0;
    tokens[span] = view.tokens[row] ?? 0;
    flags[span] = view.flags[row] ?? 0;
    ends[span] = span + 1;
    durationMs = Math.max(durationMs, at(starts, span) + at(durations, span));
    if (parent < 0) positions[span] = rootCount += 1;
    else {
      depths[span] = at(depths, parent) + 1;
      positions[span] = childCounts[parent] = at(childCounts, parent) + 1;
    }
  }
  sumUp({ parents, ends, costs, tokens });
  const of = columnsOf(view, order);
  return {
    ...{ count, total: view.total_spans, startUs: view.start_time_us, durationMs, rootCount },
    ...{ parents, ends, depths, childCounts, positions, starts, durations, costs, tokens, flags },
    ...of,
  };
}

const at = (column: { readonly [place: number]: number }, place: number): number => column[place] ?? 0;

/** The order of a walk through the tree, and parents by their place in it. Spans below themselves become roots. */
function preOrder(parentsByTime: readonly number[]): { order: Int32Array; parents: Int32Array } {
  const count = parentsByTime.length;
  const [first, next] = [new Int32Array(count).fill(-1), new Int32Array(count).fill(-1)];
  const [order, parents] = [new Int32Array(count), new Int32Array(count).fill(-1)];
  const isPlaced = new Uint8Array(count);
  for (let row = count - 1; row >= 0; row -= 1) {
    const parent = parentsByTime[row] ?? -1;
    if (parent < 0) continue;
    next[row] = at(first, parent);
    first[parent] = row;
  }
  let placed = 0;
  const walk = (root: number): void => {
    const rows = [root];
    const parentPlaces = [-1];
    for (let row = rows.pop(); row !== undefined; row = rows.pop()) {
      const parent = parentPlaces.pop() ?? -1;
      if (isPlaced[row] === 1) continue;
      isPlaced[row] = 1;
      order[placed] = row;
      parents[placed] = parent;
      const children: number[] = [];
      for (let child = at(first, row); child >= 0; child = at(next, child)) children.push(child);
      for (const child of children.reverse()) {
        rows.push(child);
        parentPlaces.push(placed);
      }
      placed += 1;
    }
  };
  for (let row = 0; row < count; row += 1) if ((parentsByTime[row] ?? -1) < 0) walk(row);
  for (let row = 0; row < count; row += 1) if (isPlaced[row] === 0) walk(row);
  return { order, parents };
}

export function runningSum(steps: readonly number[] | Int32Array): Float64Array {
  const sums = new Float64Array(steps.length);
  let sum = 0;
  steps.forEach((step, row) => (sums[row] = sum += step));
  return sums;
}

/** A span that sums up what is below it reports the same cost again: the larger of the two counts. */
function sumUp(columns: Pick<Trace, 'parents' | 'ends' | 'costs' | 'tokens'>): void {
  const { parents, ends } = columns;
  const sums = [columns.costs, columns.tokens].map((own) => ({ own, below: new Float64Array(own.length) }));
  for (let span = parents.length - 1; span >= 0; span -= 1) {
    const parent = at(parents, span);
    for (const { own, below } of sums) {
      own[span] = Math.max(at(own, span), at(below, span));
      if (parent >= 0) below[parent] = at(below, parent) + at(own, span);
    }
    if (parent >= 0) ends[parent] = Math.max(at(ends, parent), at(ends, span));
  }
}

function columnsOf(view: SkeletonView, order: Int32Array) {
  const count = order.length;
  const ids = new Map<string, number>();
  const patterns = new Map<number, string>();
  const [names, types] = [Uint32Array.from(view.name), Uint16Array.from(view.type)];
  const inOrder = (bit: number): number[] => view.flags.flatMap((flags, row) => (flags & bit ? [row] : []));
  const placeByRow = new Int32Array(count);
  order.forEach((row, span) => (placeByRow[row] = span));
  inOrder(flag.semantic).forEach((row, n) => patterns.set(at(placeByRow, row), view.patterns[n] ?? ''));
  // Code points, as the server counts; nearly all ids are plain ASCII.
  const isPlain = view.span_ids.length === count * view.id_length;
  const characters = isPlain ? undefined : [...view.span_ids];
  const idAt = (row: number): string => {
    const [from, to] = [row * view.id_length, (row + 1) * view.id_length];
    return (characters?.slice(from, to).join('') ?? view.span_ids.slice(from, to)).trimEnd();
  };
  const placeOf = (id: string): number => {
    if (ids.size === 0) {
      inOrder(flag.execution).forEach((row, n) =>
        ids.set(view.execution_ids.slice(n * idOfExecution, (n + 1) * idOfExecution), at(placeByRow, row)),
      );
      for (let span = count - 1; span >= 0; span -= 1) ids.set(idAt(at(order, span)), span);
    }
    return ids.get(id) ?? -1;
  };
  const idOf = (span: number): string => idAt(at(order, span));
  const nameOf = (span: number): string => view.names[at(names, at(order, span))] ?? '';
  const unknown = { operation: '', kind: 'other', status: 'success' } as const;
  const typeOf = (span: number) => view.types[at(types, at(order, span))] ?? unknown;
  const search = (text: string): Int32Array => {
    const wanted = text.toLowerCase();
    const has = (word: string): boolean => word.toLowerCase().includes(wanted);
    const [isName, isType] = [view.names.map(has), view.types.map(({ operation }) => has(operation))];
    const found = new Int32Array(count);
    let hits = 0;
    for (let span = 0; span < count; span += 1) {
      const row = at(order, span);
      if (isName[at(names, row)] || isType[at(types, row)] || patterns.get(span)?.includes(wanted))
        found[hits++] = span;
    }
    const byId = hits === 0 ? placeOf(text) : -1;
    return byId >= 0 ? Int32Array.of(byId) : found.slice(0, hits);
  };
  return { idOf, placeOf, nameOf, typeOf, search, patternOf: (span: number) => patterns.get(span) };
}

/** The spans that are shown: those not below a collapsed one, in order. */
export function visibleSpans({ count, ends }: Trace, isCollapsed: (span: number) => boolean): Int32Array {
  const shown = new Int32Array(count);
  let rows = 0;
  for (let span = 0; span < count; span = isCollapsed(span) ? at(ends, span) : span + 1) shown[rows++] = span;
  return shown.slice(0, rows);
}
