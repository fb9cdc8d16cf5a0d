import { type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { counted, duration } from '../../lib/format.js';
import { flag, runningSum } from './trace.js';
import type { TraceProps, TraceStore } from './trace-store.js';
import css from './trace.module.css';

/** The whole trace on one line: how many spans of each kind run, which failed, and the stretch that the bars show. */
export function Minimap({ store, state }: TraceProps): ReactNode {
  const { trace, whole } = store;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<readonly [number, number]>();
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, store, state.hits);
  }, [store, width, state.hits]);
  const placeAt = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width: size } = currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / size));
  };
  const end = (event: PointerEvent): void => {
    if (!drag) return;
    const [from = 0, to = 0] = [drag[0], placeAt(event)].sort((a, b) => a - b);
    setDrag(undefined);
    store.zoom(to - from < minDrag ? undefined : { from: whole.timeAt(from), to: whole.timeAt(to) });
  };
  const spans = `${counted(trace.count, 'span')} in ${duration(trace.durationMs)}`;
  const shown =
    drag ?? (state.isZoomed && ([whole.placeOf(state.axis.from), whole.placeOf(state.axis.to)] as const));
  return (
    <div
      className={css.minimap}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag([placeAt(event), placeAt(event)]);
      }}
      onPointerMove={(event) => drag && setDrag([drag[0], placeAt(event)])}
      onPointerUp={end}
    >
      <canvas ref={canvas} role="img" aria-label={`${spans}; ${counted(whole.folds.length, 'folded gap')}`} />
      {whole.folds.map(({ from, to }) => (
        <span
          key={from}
          className={css.fold}
          title={`Nothing ran for ${duration(to - from)}`}
          style={span(whole.placeOf(from), whole.placeOf(to))}
        />
      ))}
      {shown && <span className={css.brush} style={span(Math.min(...shown), Math.max(...shown))} />}
    </div>
  );
}

const kinds: readonly string[] = ['llm', 'tool', 'agent', 'other'];
const minDrag = 0.003;
const span = (from: number, to: number) => ({ left: `${from * 100}%`, width: `${(to - from) * 100}%` });

/** Draws by column of pixels, so that many spans cost as much as few. */
function draw(canvas: HTMLCanvasElement, { trace, whole }: TraceStore, hits: Int32Array): void {
  const scale = window.devicePixelRatio;
  const [width, height] = [Math.round(canvas.clientWidth * scale), Math.round(canvas.clientHeight * scale)];
  Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  if (!context) return;
  // The colours of the theme, which a canvas does not know by their names.
  const style = getComputedStyle(canvas);
  const { borderTopColor, borderRightColor, borderBottomColor } = style;
  const columnOf = (ms: number): number => Math.min(width - 1, Math.floor(whole.placeOf(ms) * width));
  const changes = kinds.map(() => new Int32Array(width + 1));
  const marks = [new Uint8Array(width), new Uint8Array(width), new Uint8Array(width)] as const;
  for (let place = 0; place < trace.count; place += 1) {
    const [start, flags] = [trace.starts[place] ?? 0, trace.flags[place] ?? 0];
    const [first, last] = [columnOf(start), columnOf(start + (trace.durations[place] ?? 0))];
    const { kind } = trace.typeOf(place);
    // Spans of other kinds wait for those below them.
    if (trace.childCounts[place] === 0 || kind === 'llm' || kind === 'tool') {
      const steps = changes.at(kinds.indexOf(kind)) ?? [];
      steps[first] = (steps[first] ?? 0) + 1;
      steps[last + 1] = (steps[last + 1] ?? 0) - 1;
    }
    if (flags & flag.error) marks[0][first] = 1;
    if (flags & flag.semantic) marks[1][first] = 1;
  }
  for (const place of hits) marks[2][columnOf(trace.starts[place] ?? 0)] = 1;
  const running = changes.map(runningSum);
  const heights = Int32Array.from({ length: width }, (_, x) =>
    running.reduce((sum, each) => sum + (each[x] ?? 0), 0),
  );
  const most = heights.reduce((max, each) => Math.max(max, each), 1);
  const room = height - 8 * scale;
  // Each kind covers the lower part of the one before.
  running.forEach((each, place) => {
    canvas.dataset['kind'] = kinds[place];
    context.fillStyle = style.color;
    each.forEach((spans, x) => {
      const tall = Math.max(scale, ((heights[x] ?? 0) / most) * room);
      if (spans > 0) context.fillRect(x, height - tall, 1, tall);
      heights[x] = (heights[x] ?? 0) - spans;
    });
  });
  const colours = [borderTopColor, borderRightColor, borderBottomColor];
  marks.forEach((columns, kind) => {
    context.fillStyle = colours[kind] ?? '';
    columns.forEach((isThere, x) => {
      if (isThere) context.fillRect(x, kind === 2 ? height - 5 * scale : 0, Math.ceil(2 * scale), 5 * scale);
    });
  });
}
