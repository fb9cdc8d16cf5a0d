import { type Axis, axisOf, gapsIn, type Range } from './axis.js';
import { flag, type Trace, visibleSpans } from './trace.js';

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
}

export interface TraceState {
  /** The rows of the tree. */
  readonly visible: Int32Array;
  /** The row of each span; -1: it is below a collapsed one. */
  readonly rows: Int32Array;
  /** -1: none. */
  readonly selected: number;
  readonly q: string;
  readonly hits: Int32Array;
  readonly axis: Axis;
  readonly isZoomed: boolean;
  /** The level below which all is collapsed. */
  readonly level: number | undefined;
  readonly exceptions: ReadonlySet<number>;
  readonly highlighted: ReadonlySet<number>;
  /** The reason for the highlight. */
  readonly note: string;
}

/** An address with more of them would be too long to share; further ones are not kept. */
const maxExceptions = 100;
const none = new Int32Array(0);

/** State of the trace screen. It is kept outside React, so that a step through 50,000 spans draws only the rows that it changes. */
export class TraceStore {
  private readonly listeners = new Set<() => void>();
  private readonly gaps: readonly Range[];
  private state: TraceState;

  constructor(readonly trace: Trace) {
    this.gaps = gapsIn(trace);
    this.state = {
      ...this.projected(undefined, new Set()),
      ...{ selected: -1, q: '', hits: none, axis: this.axis(), isZoomed: false },
      ...{ highlighted: new Set(), note: '' },
    };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly read = (): TraceState => this.state;

  get place(): Place {
    const { selected, q, axis, isZoomed, level, exceptions } = this.state;
    const ids = [...exceptions].slice(0, maxExceptions).map((span) => this.trace.idOf(span));
    const collapsed = [...(level === undefined ? [] : [`L${level}`]), ...ids].join(',');
    return {
      span: selected < 0 ? undefined : this.trace.idOf(selected),
      q: q || undefined,
      from: isZoomed ? Math.floor(axis.from) : undefined,
      to: isZoomed ? Math.ceil(axis.to) : undefined,
      collapsed: collapsed || undefined,
    };
  }

  /** Shows what an address names. */
  goTo({ span = '', q = '', from, to, collapsed = '' }: Place): void {
    const [first = '', ...rest] = collapsed.split(',');
    const level = /^L(\d+)$/.exec(first)?.[1];
    const exceptions = (level === undefined ? [first, ...rest] : rest)
      .map((id) => this.trace.placeOf(id))
      .filter((place) => place >= 0);
    const isZoomed = from !== undefined && to !== undefined && from < to;
    this.change({
      ...this.projected(level === undefined ? undefined : Number(level), new Set(exceptions)),
      ...{ q, hits: q === '' ? none : this.trace.search(q), isZoomed },
      axis: this.axis(isZoomed ? { from, to } : undefined),
      selected: -1,
    });
    if (span !== '') this.select(this.trace.placeOf(span));
  }

  /** Selects a span, and opens what it stands below. */
  select(span: number): void {
    if (span < 0 || span >= this.trace.count) return;
    const hidden = ancestorsOf(this.trace, span).filter((each) => this.isCollapsed(each));
    this.change({ selected: span, ...(hidden.length > 0 && this.toggled(hidden)) });
  }

  /** Selects the row that is so many below. */
  step(by: number): void {
    const { visible, rows, selected } = this.state;
    const row = selected < 0 ? -1 : (rows[selected] ?? -1);
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
    if (selected >= 0 && (rows[selected] ?? -1) < 0) this.change({ selected: span });
  }

  /** @param level the spans that stay; undefined: all */
  collapseTo(level: number | undefined): void {
    this.change(this.projected(level, new Set()));
    const { rows, selected } = this.state;
    if (selected < 0 || (rows[selected] ?? -1) >= 0) return;
    const shown = ancestorsOf(this.trace, selected).find((span) => (rows[span] ?? -1) >= 0);
    this.change({ selected: shown ?? -1 });
  }

  search(q: string): void {
    this.change({ q, hits: q === '' ? none : this.trace.search(q) });
  }

  /** Selects the next one of some spans, which are in order, and after the last the first. */
  next(spans: Int32Array): void {
    const { selected } = this.state;
    this.select(spans.find((span) => span > selected) ?? spans[0] ?? -1);
  }

  nextWrong(): void {
    const { flags, count } = this.trace;
    for (let n = 1; n <= count; n += 1) {
      const span = (this.state.selected + n + count) % count;
      if ((flags[span] ?? 0) & (flag.error | flag.semantic)) return this.select(span);
    }
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

  private axis(range: Range = { from: 0, to: this.trace.durationMs }): Axis {
    return axisOf(range, this.gaps);
  }

  private toggled(spans: readonly number[]) {
    const exceptions = new Set(this.state.exceptions);
    for (const span of spans) if (!exceptions.delete(span)) exceptions.add(span);
    return this.projected(this.state.level, exceptions);
  }

  private projected(level: number | undefined, exceptions: ReadonlySet<number>) {
    const visible = visibleSpans(this.trace, (span) =>
      isCollapsedIn(this.trace, { level, exceptions }, span),
    );
    const rows = new Int32Array(this.trace.count).fill(-1);
    visible.forEach((span, row) => (rows[span] = row));
    return { visible, rows, level, exceptions };
  }

  private change(changes: Partial<TraceState>): void {
    this.state = { ...this.state, ...changes };
    for (const listener of this.listeners) listener();
  }
}

const isCollapsedIn = (
  { depths, childCounts }: Trace,
  { level, exceptions }: Pick<TraceState, 'level' | 'exceptions'>,
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
