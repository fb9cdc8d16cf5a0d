import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
} from 'react';
import { cost, duration, number } from '../../lib/format.js';
import type { Axis } from './axis.js';
import { flag, type Trace } from './trace.js';
import type { TraceProps, TraceStore } from './trace-store.js';
import css from './span-tree.module.css';

const rowHeight = 28;
/** Spans for which the trace waits less are not underlined. */
const minWait = 0.01;
const overscan = 4;

const rowId = (span: number): string => `span-${span}`;

/** The spans as a tree, each with its bar in time; only the rows in sight are drawn. */
export function SpanTree({ store, state }: TraceProps): ReactNode {
  const { visible, rows, selected, axis } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: visible.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan,
    scrollPaddingStart: rowHeight,
  });
  const row = selected < 0 ? -1 : (rows[selected] ?? -1);
  const show = useEffectEvent(() => row >= 0 && virtual.scrollToIndex(row, { align: 'auto' }));
  useEffect(() => void show(), [state.moves]);
  useAnchor(store, scroller);
  const hits = useMemo(() => new Set(state.hits), [state.hits]);
  return (
    <div
      ref={scroller}
      role="treegrid"
      aria-label="Spans"
      aria-rowcount={visible.length + 1}
      aria-activedescendant={row >= 0 ? rowId(selected) : undefined}
      tabIndex={0}
      className={css.tree}
      onKeyDown={(event) =>
        onKey(event, store, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1)
      }
    >
      <Head axis={axis} />
      <div role="rowgroup" className={css.rows} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start: top }) => {
          const span = visible[index] ?? -1;
          const marks = [hits.has(span) && css.hit, state.highlighted.has(span) && css.highlighted];
          return (
            <SpanRow
              key={span}
              {...{ store, span, top, index, axis }}
              isSelected={span === selected}
              isOpen={(store.trace.childCounts[span] ?? 0) > 0 && !store.isCollapsed(span)}
              className={[css.row, css.span, ...marks].filter(Boolean).join(' ')}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Keeps the first row in its place when spans come above it. */
function useAnchor(store: TraceStore, scroller: { readonly current: HTMLElement | null }): void {
  const first = useRef({ id: '', row: 0 });
  useLayoutEffect(() => {
    const { current: element } = scroller;
    const { id, row } = first.current;
    const now = id === '' ? -1 : (store.read().rows[store.trace.placeOf(id)] ?? -1);
    if (element && now > row) element.scrollTop += (now - row) * rowHeight;
    return () => {
      const at = Math.floor((element?.scrollTop ?? 0) / rowHeight);
      first.current = { id: store.trace.idOf(store.read().visible[at] ?? 0), row: at };
    };
  }, [store, scroller]);
}

/** Keys of a tree grid: https://www.w3.org/WAI/ARIA/apg/patterns/treegrid/ */
function onKey(event: KeyboardEvent, store: TraceStore, page: number): void {
  const { selected } = store.read();
  const { childCounts, parents, count } = store.trace;
  const isParent = (childCounts[selected] ?? 0) > 0;
  const acts: Readonly<Record<string, () => void>> = {
    ArrowDown: () => store.step(1),
    ArrowUp: () => store.step(-1),
    PageDown: () => store.step(page),
    PageUp: () => store.step(-page),
    Home: () => store.step(-count),
    End: () => store.step(count),
    ArrowRight: () => (isParent && store.isCollapsed(selected) ? store.toggle(selected) : store.step(1)),
    ArrowLeft: () =>
      isParent && !store.isCollapsed(selected)
        ? store.toggle(selected)
        : store.select(parents[selected] ?? -1),
    Enter: () => store.toggle(selected),
    z: () => store.zoomToSelected(),
  };
  const act = acts[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}

const figures: Readonly<Record<string, (trace: Trace, span: number) => ReactNode>> = {
  Duration: ({ durations }, span) => duration(durations[span] ?? 0),
  Tokens: ({ tokens }, span) => tokens[span] !== 0 && number(tokens[span] ?? 0),
  Cost: ({ costs }, span) => costs[span] !== 0 && cost(costs[span] ?? 0),
};
const ticks = [0, 1 / 3, 2 / 3] as const;

const Head = ({ axis }: { readonly axis: Axis }): ReactNode => (
  <div role="rowgroup" className={css.head}>
    <div role="row" className={css.row}>
      <div role="columnheader">Span</div>
      {Object.keys(figures).map((name) => (
        <div key={name} role="columnheader" className={css.number}>
          {name}
        </div>
      ))}
      <div role="columnheader" aria-label="Time" className={css.bars}>
        {ticks.map((place) => (
          <span key={place} className={css.tick} style={{ left: `${place * 100}%` }}>
            {duration(axis.timeAt(place))}
          </span>
        ))}
        {axis.folds.map(({ from, to }) => (
          <span key={from} className={css.idle} style={{ left: `${axis.placeOf(from) * 100}%` }}>
            {duration(to - from)} idle
          </span>
        ))}
      </div>
    </div>
  </div>
);

interface SpanRowProps {
  readonly store: TraceStore;
  readonly span: number;
  readonly index: number;
  readonly top: number;
  readonly axis: Axis;
  readonly isSelected: boolean;
  readonly isOpen: boolean;
  readonly className: string;
}

const indent = 14;
/** Deeper ones are not indented further, so that a name stays in sight. */
const maxIndents = 14;

const SpanRow = memo(({ store, span, index, top, axis, isSelected, isOpen, className }: SpanRowProps) => {
  const { trace } = store;
  const parent = trace.parents[span] ?? -1;
  const depth = trace.depths[span] ?? 0;
  const isParent = (trace.childCounts[span] ?? 0) > 0;
  const { operation, kind } = trace.typeOf(span);
  const name = trace.nameOf(span);
  return (
    <div
      id={rowId(span)}
      role="row"
      aria-level={depth + 1}
      aria-posinset={trace.positions[span]}
      aria-setsize={parent < 0 ? trace.rootCount : trace.childCounts[parent]}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      aria-expanded={isParent ? isOpen : undefined}
      className={className}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => store.select(span)}
    >
      <div role="gridcell" className={css.name} style={{ paddingLeft: Math.min(depth, maxIndents) * indent }}>
        <span
          aria-hidden="true"
          className={css.caret}
          onClick={(event) => {
            event.stopPropagation();
            store.toggle(span);
          }}
        >
          {isParent && (isOpen ? '▾' : '▸')}
        </span>
        <span className={css.kind} data-kind={kind} title={kind} />
        <span className={css.title} title={name}>
          {name}
        </span>
        <Wrong store={store} span={span} />
        {operation !== name && <span className={css.operation}>{operation}</span>}
      </div>
      {Object.entries(figures).map(([figure, write]) => (
        <div key={figure} role="gridcell" className={css.number}>
          {write(trace, span)}
        </div>
      ))}
      <div role="gridcell" className={css.bars} aria-label={`from ${duration(trace.starts[span] ?? 0)}`}>
        {axis.folds.map(({ from }) => (
          <span key={from} className={css.break} style={{ left: `${axis.placeOf(from) * 100}%` }} />
        ))}
        <Bar {...{ store, span, axis, kind }} />
      </div>
    </div>
  );
});
SpanRow.displayName = 'SpanRow';

function Wrong({ store: { trace }, span }: Pick<SpanRowProps, 'store' | 'span'>): ReactNode {
  const flags = trace.flags[span] ?? 0;
  const pattern = trace.patternOf(span);
  return (
    <>
      {(flags & flag.error) !== 0 && <span className={css.error}>error</span>}
      {pattern !== undefined && (
        <span className={css.semantic} title={`Finding: “${pattern}”`}>
          “{pattern}”
        </span>
      )}
    </>
  );
}

interface BarProps extends Pick<SpanRowProps, 'store' | 'span' | 'axis'> {
  readonly kind: string;
}

function Bar({ store: { trace, waits }, span, axis, kind }: BarProps): ReactNode {
  const start = trace.starts[span] ?? 0;
  const finish = start + (trace.durations[span] ?? 0);
  if (finish < axis.from || start > axis.to) return null;
  const [from, to] = [axis.placeOf(start), axis.placeOf(finish)];
  const flags = trace.flags[span] ?? 0;
  const state = flags & flag.error ? 'error' : flags & flag.semantic ? 'semantic' : undefined;
  return (
    <span
      className={css.bar}
      data-kind={kind}
      data-state={state}
      data-critical={(waits[span] ?? 0) >= trace.durationMs * minWait ? '' : undefined}
      style={{ left: `${from * 100}%`, width: `max(2px, ${(to - from) * 100}%)` }}
    />
  );
}
