import type { SkeletonView } from '../../lib/api-types.js';

/** Bits of a span's flags, as the server sets them. */
export const flag = { error: 1, semantic: 2, execution: 4 } as const;

const idOfExecution = 36;

/**
 * The spans of a trace in typed arrays, so that 50,000 of them take a few megabytes. A span is its place in them: its
 * parent stands before its children, and a span before what is below it (pre-order).
 */
export type Trace = ReturnType<typeof traceOf>;

/** Reads the columns of the server, which are by start, into pre-order. */
export function traceOf(view: SkeletonView) {
  const count = view.spans;
  const { order, parents, placeByRow } = preOrder(view.parents);
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
  return {
    count,
    /** Spans that the trace has on the server. */
    total: view.total_spans,
    startUs: view.start_time_us,
    /** From the start of the first span to the end of the last one. */
    durationMs,
    rootCount,
    parents,
    /** The place after the last span below. */
    ends,
    /** Position among the children of the same parent, from 1. */
    positions,
    ...{ depths, childCounts, starts, durations, flags },
    /** Totals of the span and all spans below it. */
    ...{ costs, tokens },
    ...columnsOf(view, order, placeByRow),
  };
}

const at = (column: { readonly [place: number]: number }, place: number): number => column[place] ?? 0;

/** The order of a walk through the tree, and parents by their place in it. Spans below themselves become roots. */
function preOrder(parentsByTime: readonly number[]) {
  const count = parentsByTime.length;
  const none = (): Int32Array => new Int32Array(count).fill(-1);
  const [first, next, parents, placeByRow, order] = [none(), none(), none(), none(), none()];
  for (let row = count - 1; row >= 0; row -= 1) {
    const parent = parentsByTime[row] ?? -1;
    if (parent < 0) continue;
    next[row] = at(first, parent);
    first[parent] = row;
  }
  let placed = 0;
  const walk = (root: number): void => {
    const rows = [root];
    for (let row = rows.pop(); row !== undefined; row = rows.pop()) {
      if (placeByRow[row] !== -1) continue;
      parents[placed] = placeByRow[parentsByTime[row] ?? -1] ?? -1;
      order[placed] = row;
      placeByRow[row] = placed++;
      if (row !== root) rows.push(at(next, row));
      rows.push(at(first, row));
    }
  };
  for (let row = 0; row < count; row += 1) if ((parentsByTime[row] ?? -1) < 0) walk(row);
  for (let row = 0; row < count; row += 1) walk(row);
  return { order, parents, placeByRow };
}

export function runningSum(steps: readonly number[] | Int32Array): Float64Array {
  const sums = new Float64Array(steps.length);
  let sum = 0;
  steps.forEach((step, row) => (sums[row] = sum += step));
  return sums;
}

/** A span that sums up what is below it reports the same cost again: the larger of the two counts. */
function sumUp(
  columns: Readonly<Record<'parents' | 'ends' | 'costs' | 'tokens', Int32Array | Float64Array>>,
): void {
  const { parents, ends, costs, tokens } = columns;
  const sums = [costs, tokens].map((own) => ({ own, below: new Float64Array(own.length) }));
  for (let span = parents.length - 1; span >= 0; span -= 1) {
    const parent = at(parents, span);
    for (const { own, below } of sums) {
      own[span] = Math.max(at(own, span), at(below, span));
      if (parent >= 0) below[parent] = at(below, parent) + at(own, span);
    }
    if (parent >= 0) ends[parent] = Math.max(at(ends, parent), at(ends, span));
  }
}

function columnsOf(view: SkeletonView, order: Int32Array, placeByRow: Int32Array) {
  const count = order.length;
  const ids = new Map<string, number>();
  const patterns = new Map<number, string>();
  const [names, types] = [Uint32Array.from(view.name), Uint16Array.from(view.type)];
  const inOrder = (bit: number): number[] => view.flags.flatMap((flags, row) => (flags & bit ? [row] : []));
  inOrder(flag.semantic).forEach((row, n) => patterns.set(at(placeByRow, row), view.patterns[n] ?? ''));
  // Code points, as the server counts; nearly all ids are plain ASCII.
  const isPlain = view.span_ids.length === count * view.id_length;
  const characters = isPlain ? undefined : [...view.span_ids];
  const idAt = (row: number): string => {
    const [from, to] = [row * view.id_length, (row + 1) * view.id_length];
    return (characters?.slice(from, to).join('') ?? view.span_ids.slice(from, to)).trimEnd();
  };
  /** @param id of the span, or of its execution @returns -1 if there is none */
  const placeOf = (id: string): number => {
    if (ids.size === 0) {
      inOrder(flag.execution).forEach((row, n) =>
        ids.set(view.execution_ids.slice(n * idOfExecution, (n + 1) * idOfExecution), at(placeByRow, row)),
      );
      for (let span = count - 1; span >= 0; span -= 1) ids.set(idAt(at(order, span)), span);
    }
    return ids.get(id) ?? -1;
  };
  /** @returns spans whose name, operation or id contains a text, in order */
  const search = (text: string): Int32Array => {
    const wanted = text.toLowerCase();
    const has = (word: string): boolean => word.toLowerCase().includes(wanted);
    const [isName, isType] = [view.names.map(has), view.types.map(({ operation }) => has(operation))];
    const found = order.map((row, span) =>
      isName[at(names, row)] || isType[at(types, row)] || patterns.get(span)?.includes(wanted) ? span : -1,
    );
    const hits = found.filter((span) => span >= 0);
    const byId = hits.length === 0 ? placeOf(text) : -1;
    return byId >= 0 ? Int32Array.of(byId) : hits;
  };
  const unknown = { operation: '', kind: 'other', status: 'success' } as const;
  return {
    idOf: (span: number): string => idAt(at(order, span)),
    placeOf,
    nameOf: (span: number): string => view.names[at(names, at(order, span))] ?? '',
    typeOf: (span: number): SkeletonView['types'][number] =>
      view.types[at(types, at(order, span))] ?? unknown,
    /** The pattern of a semantic failure, or the reason of its mark. */
    patternOf: (span: number): string | undefined => patterns.get(span),
    /** Labels that occur. */
    labels: view.labels,
    labelOf: (span: number): string => view.labels[at(view.label, at(order, span))] ?? '',
    search,
  };
}

/** @returns 1 for each span that has one of some labels, and for those above and below it */
export function labelledIn({ ends, parents, labelOf }: Trace, labels: readonly string[]): Uint8Array {
  const labelled = new Uint8Array(ends.length);
  for (let span = 0; span < ends.length; span += 1) {
    if (!labels.includes(labelOf(span))) continue;
    labelled.fill(1, span, ends[span]);
    for (let above = at(parents, span); above >= 0; above = at(parents, above)) labelled[above] = 1;
    span = at(ends, span) - 1;
  }
  return labelled;
}

/**
 * Milliseconds for which the trace waits for each span. It waits for one at a time: of those that run, the one that ends
 * last, and of its children again the one that ends last.
 */
export function waitsOf({ count, ends, starts, durations, durationMs }: Trace): Float64Array {
  const waits = new Float64Array(count);
  const finish = (span: number): number => at(starts, span) + at(durations, span);
  // Backwards in time: a stretch is the span's own as far as no child of it reaches.
  const stretches = [{ span: -1, from: 0, to: durationMs }];
  for (let next = stretches.pop(); next; next = stretches.pop()) {
    const { span, from } = next;
    let { to } = next;
    const wait = (until: number): void => {
      if (span >= 0) waits[span] = at(waits, span) + to - until;
    };
    const children: number[] = [];
    const end = span < 0 ? count : at(ends, span);
    for (let child = span + 1; child < end; child = at(ends, child)) children.push(child);
    for (const child of children.sort((a, b) => finish(b) - finish(a))) {
      const stretch = {
        span: child,
        from: Math.max(at(starts, child), from),
        to: Math.min(finish(child), to),
      };
      if (stretch.from >= stretch.to) continue;
      wait(stretch.to);
      stretches.push(stretch);
      to = stretch.from;
    }
    wait(from);
  }
  return waits;
}

/** Spans that are not below a collapsed one and not left out, in order. @param kept 0 for those that are left out */
export function visibleSpans(
  { count, ends }: Trace,
  isCollapsed: (span: number) => boolean,
  kept?: Uint8Array,
): Int32Array {
  const shown = new Int32Array(count);
  let rows = 0;
  for (let span = 0; span < count;) {
    const isKept = kept?.[span] !== 0;
    if (isKept) shown[rows++] = span;
    span = isKept && !isCollapsed(span) ? span + 1 : at(ends, span);
  }
  return shown.slice(0, rows);
}
