import { labelsIn } from '../../lib/label-filter.js';
import { type Axis, axisOf, gapsIn, type Range } from './axis.js';
import { flag, labelledIn, type Trace, visibleSpans, waitsOf } from './trace.js';

/** The part of the view that the address keeps. */
export interface Place {
  /** Id of the selected span, or of its execution. */
  readonly span?: string | undefined;
  readonly q?: string | undefined;
  /** Milliseconds from the start of the trace. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** `L2` collapses a level; ids of spans after it are the exceptions. */
  readonly collapsed?: string | undefined;
  /** The tree has spans with one of these, and those above and below. */
  readonly labels?: string | undefined;
}

/** Filters that leave spans out of the tree. */
interface Cuts {
  /** The level below which all is collapsed. */
  readonly level: number | undefined;
  readonly exceptions: ReadonlySet<number>;
  readonly labels: string;
}

export interface TraceState extends Cuts {
  /** The rows of the tree. */
  readonly visible: Int32Array;
  /** The row of each span; -1: it is below a collapsed one, or left out. */
  readonly rows: Int32Array;
  /** 0 for spans without the wanted labels; undefined: all are wanted. */
  readonly kept: Uint8Array | undefined;
  /** -1: none. */
  readonly selected: number;
  /** Counts changes after which the selected row is scrolled into sight. */
  readonly moves: number;
  readonly q: string;
  readonly hits: Int32Array;
  readonly axis: Axis;
  readonly isZoomed: boolean;
  readonly highlighted: ReadonlySet<number>;
  /** The reason for the highlight. */
  readonly note: string;
}

/** Values that parts of the screen draw. */
export interface TraceProps {
  readonly store: TraceStore;
  readonly state: TraceState;
}

/** An address with more of them would be too long to share; further ones are dropped. */
const maxExceptions = 100;

/** State of the trace screen. It is kept outside React, so that a step through 50,000 spans draws only the rows that it changes. */
export class TraceStore {
  private readonly listeners = new Set<() => void>();
  private readonly gaps: readonly Range[];
  /** The whole trace. */
  readonly whole: Axis;
  readonly waits: Float64Array;
  private state: TraceState;
  /** The span that was selected last: keys go on from it after its pane was closed. */
  private last = -1;

  /** @param before the same trace with fewer spans: what is seen of it stays */
  constructor(
    readonly trace: Trace,
    before?: TraceStore,
  ) {
    this.gaps = gapsIn(trace);
    this.whole = axisOf({ from: 0, to: trace.durationMs }, this.gaps);
    this.waits = waitsOf(trace);
    const moved = (spans: Iterable<number> = []): Set<number> => {
      const ids = [...spans].filter((span) => span >= 0).map((span) => before?.trace.idOf(span) ?? '');
      return new Set(ids.map((id) => trace.placeOf(id)).filter((place) => place >= 0));
    };
    const old: Partial<TraceState> = before?.state ?? {};
    const { level, labels = '', q = '', axis, isZoomed = false, moves = 0, note = '' } = old;
    const cut = this.cut({ level, exceptions: moved(old.exceptions), labels });
    this.state = {
      ...{ ...cut, q, isZoomed, moves, note, selected: [...moved([old.selected ?? -1]), -1][0] ?? -1 },
      ...{ hits: this.found(q, cut.kept), axis: this.axis(isZoomed ? axis : undefined) },
      highlighted: moved(old.highlighted),
    };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly read = (): TraceState => this.state;

  get place(): Place {
    const { selected, q, axis, isZoomed, level, exceptions, labels } = this.state;
    const ids = [...exceptions].slice(0, maxExceptions).map((span) => this.trace.idOf(span));
    const collapsed = [...(level === undefined ? [] : [`L${level}`]), ...ids].join(',');
    return {
      span: selected < 0 ? undefined : this.trace.idOf(selected),
      q: q || undefined,
      from: isZoomed ? Math.floor(axis.from) : undefined,
      to: isZoomed ? Math.ceil(axis.to) : undefined,
      collapsed: collapsed || undefined,
      labels: labels || undefined,
    };
  }

  /** Shows what an address names. */
  goTo({ span = '', q = '', from, to, collapsed = '', labels = '' }: Place): void {
    const [first = '', ...rest] = collapsed.split(',');
    const level = /^L(\d+)$/.exec(first)?.[1];
    const exceptions = (level === undefined ? [first, ...rest] : rest)
      .map((id) => this.trace.placeOf(id))
      .filter((place) => place >= 0);
    const isZoomed = from !== undefined && to !== undefined && from < to;
    const cut = this.cut({ level: Number(level) || undefined, exceptions: new Set(exceptions), labels });
    this.change({
      ...{ ...cut, q, hits: this.found(q, cut.kept), isZoomed },
      ...{ axis: this.axis(isZoomed ? { from, to } : undefined), selected: -1 },
    });
    if (span !== '') this.select(this.trace.placeOf(span));
  }

  /** Selects a span, and opens what it stands below. */
  select(span: number): void {
    if (span < 0 || span >= this.trace.count) return;
    if (this.state.kept?.[span] === 0) this.filter('');
    const hidden = ancestorsOf(this.trace, span).filter((each) => this.isCollapsed(each));
    this.last = span;
    this.change({ selected: span, ...(hidden.length > 0 && this.toggled(hidden)) });
  }

  unselect(): void {
    this.change({ selected: -1 });
  }

  /** Selects the row that is so many below. */
  step(by: number): void {
    const { visible, rows } = this.state;
    const row = this.last < 0 ? -1 : (rows[this.last] ?? -1);
    this.select(visible[Math.min(visible.length - 1, Math.max(0, row + by))] ?? -1);
  }

  /** Ids of the collapsed spans that the tree shows. */
  collapsedIds(): string[] {
    const collapsed = this.state.visible.filter((span) => this.isCollapsed(span));
    return Array.from(collapsed, (span) => this.trace.idOf(span));
  }

  /** Marks spans for the user and goes to the first; none removes the marks. @returns ids that the trace does not have */
  highlight(ids: readonly string[], note = ''): string[] {
    const places = ids.map((id) => this.trace.placeOf(id));
    const highlighted = new Set(places.filter((place) => place >= 0));
    this.change({ highlighted, note });
    this.select(Math.min(...highlighted));
    return ids.filter((_, index) => (places[index] ?? -1) < 0);
  }

  isCollapsed(span: number): boolean {
    return isCollapsedIn(this.trace, this.state, span);
  }

  toggle(span: number): void {
    if ((this.trace.childCounts[span] ?? 0) === 0) return;
    this.change(this.toggled([span]));
    const { rows, selected } = this.state;
    if ((rows[selected] ?? 0) < 0) this.change({ selected: span });
  }

  /** @param level the spans that stay; undefined: all */
  collapseTo(level: number | undefined): void {
    this.cutTo({ ...this.state, level, exceptions: new Set() });
  }

  /** @param labels as the address has them; empty: all spans */
  filter(labels: string): void {
    this.cutTo({ ...this.state, labels });
  }

  search(q: string): void {
    this.change({ q, hits: this.found(q, this.state.kept) });
  }

  /** Selects the next one of some spans, which are in order, and after the last the first. */
  next(spans: Int32Array): void {
    const { selected } = this.state;
    this.select(spans.find((span) => span > selected) ?? spans[0] ?? -1);
  }

  /** Whether any span of the trace failed or reports a failure. */
  get hasWrong(): boolean {
    return this.trace.flags.some((each) => (each & (flag.error | flag.semantic)) !== 0);
  }

  nextWrong(): void {
    const isWrong = (flags: number, span: number): boolean =>
      (flags & (flag.error | flag.semantic)) !== 0 && this.state.kept?.[span] !== 0;
    const { selected } = this.state;
    const { flags } = this.trace;
    const next = flags.findIndex((each, span) => span > selected && isWrong(each, span));
    this.select(next < 0 ? flags.findIndex(isWrong) : next);
  }

  zoom(range?: Range): void {
    this.change({ axis: this.axis(range), isZoomed: range !== undefined });
  }

  zoomToSelected(): void {
    const { selected } = this.state;
    if (selected < 0) return;
    const from = this.trace.starts[selected] ?? 0;
    this.zoom({ from, to: from + Math.max(1, this.trace.durations[selected] ?? 0) });
  }

  private axis(range?: Range): Axis {
    return range ? axisOf(range, this.gaps) : this.whole;
  }

  private found(q: string, kept: Uint8Array | undefined): Int32Array {
    return q === '' ? new Int32Array(0) : this.trace.search(q).filter((span) => kept?.[span] !== 0);
  }

  private toggled(spans: readonly number[]) {
    const exceptions = new Set(this.state.exceptions);
    for (const span of spans) if (!exceptions.delete(span)) exceptions.add(span);
    return this.cut({ ...this.state, exceptions });
  }

  private cut({ level, exceptions, labels }: Cuts) {
    const kept = labels === '' ? undefined : labelledIn(this.trace, labelsIn(labels));
    const isCollapsed = (span: number): boolean => isCollapsedIn(this.trace, { level, exceptions }, span);
    const visible = visibleSpans(this.trace, isCollapsed, kept);
    const rows = new Int32Array(this.trace.count).fill(-1);
    visible.forEach((span, row) => (rows[span] = row));
    return { visible, rows, kept, level, exceptions, labels };
  }

  /** Selects what stands above the selected span if that is left out. */
  private cutTo(cuts: Cuts): void {
    const cut = this.cut(cuts);
    const { q, selected } = this.state;
    const near = selected < 0 ? [] : [selected, ...ancestorsOf(this.trace, selected)];
    const shown = near.find((span) => (cut.rows[span] ?? -1) >= 0) ?? -1;
    this.change({ ...cut, hits: this.found(q, cut.kept), selected: shown });
  }

  private change(changes: Partial<TraceState>): void {
    const moves = this.state.moves + Number('visible' in changes || 'selected' in changes);
    this.state = { ...this.state, ...changes, moves };
    for (const listener of this.listeners) listener();
  }
}

const isCollapsedIn = (
  { depths, childCounts }: Trace,
  { level, exceptions }: Pick<Cuts, 'level' | 'exceptions'>,
  span: number,
): boolean =>
  (childCounts[span] ?? 0) > 0 &&
  (level !== undefined && (depths[span] ?? 0) + 1 >= level) !== exceptions.has(span);

/** Those above a span, the nearest first. */
function ancestorsOf({ parents }: Trace, span: number): number[] {
  const above: number[] = [];
  for (let next = parents[span] ?? -1; next >= 0; next = parents[next] ?? -1) above.push(next);
  return above;
}
