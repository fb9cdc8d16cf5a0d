import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { timeSpan } from '../lib/format.js';
import { type ChartPoint, runsOf, ticksOf, topOf } from '../lib/series.js';
import css from './chart.module.css';
import { Probe } from './probe.js';

interface Mark {
  /** ms */
  readonly at: number;
  readonly text: string;
  readonly isBad?: boolean;
}

interface ChartProps {
  readonly label: string;
  readonly points: readonly ChartPoint[];
  /** Bars for amounts, a line for other figures. */
  readonly kind: 'bars' | 'line';
  readonly format: (value: number) => string;
  /** Text of a point, shown with its time. */
  readonly describe: (point: ChartPoint) => string;
  /** A limit, drawn as a line. */
  readonly threshold?: { readonly value: number; readonly text: string } | undefined;
  /** Changes that may explain the figures. */
  readonly marks?: readonly Mark[];
  /** Called with a period in ms after a click or a drag. */
  readonly onPeriod?: (start: number, end: number) => void;
}

const height = 100;

/** The moment under the pointer, shared by all charts of a screen. */
const Cursor = createContext<readonly [number | undefined, (at: number | undefined) => void] | undefined>(
  undefined,
);

/** Charts that share the cursor. */
export function ChartGroup({ children }: { readonly children: ReactNode }): ReactNode {
  const [at, setAt] = useState<number>();
  return (
    <Cursor value={useMemo(() => [at, setAt], [at])}>
      <div className={css.group}>{children}</div>
    </Cursor>
  );
}

/** A figure over time. Each point can be read by the pointer, by the arrow keys, and by a screen reader. */
export function Chart(props: ChartProps): ReactNode {
  const { label, points, describe, marks = [], onPeriod } = props;
  const own = useState<number>();
  const [time, setTime] = useContext(Cursor) ?? own;
  const [brush, setBrush] = useState<readonly [number, number]>();
  const found = points.findIndex(
    ({ startedAt, endedAt }) => time !== undefined && startedAt <= time && time < endedAt,
  );
  const at = found < 0 ? undefined : found;
  const linesOf = (index: number): string[] => {
    const point = points[index];
    if (!point) return [];
    const { startedAt, endedAt } = point;
    const changes = marks.filter((mark) => mark.at >= startedAt && mark.at < endedAt).map(({ text }) => text);
    return [timeSpan(startedAt, endedAt), describe(point), ...changes];
  };
  const pick = (from: number, to: number): void => {
    const [start, end] = [points[from], points[to]];
    if (start && end) onPeriod?.(start.startedAt, end.endedAt);
  };
  if (points.length === 0) return null;
  return (
    <figure className={css.chart}>
      <Legend {...props} />
      <Axes {...props}>
        <Plot {...props} range={brush ?? (at === undefined ? undefined : [at, at])} />
        {at !== undefined && <Tip share={(at + 0.5) / points.length} lines={linesOf(at)} />}
        <Probe
          {...{ label, at, count: points.length }}
          onAt={(index) => setTime(index === undefined ? undefined : points[index]?.startedAt)}
          textOf={(index) => linesOf(index).join(': ')}
          {...(onPeriod && { onBrush: setBrush, onPick: pick })}
        />
      </Axes>
    </figure>
  );
}

const Legend = ({
  kind,
  threshold,
  marks = [],
}: Pick<ChartProps, 'kind' | 'threshold' | 'marks'>): ReactNode => (
  <figcaption className={css.legend}>
    {kind === 'bars' && (
      <>
        <span className={css.succeeded}>Success</span>
        <span className={css.failed}>Failed</span>
      </>
    )}
    {threshold && <span className={css.limit}>{threshold.text}</span>}
    {marks.length > 0 && <span title="Revision or circuit change">┊ Change</span>}
  </figcaption>
);

const spanOf = (points: readonly ChartPoint[]): readonly [start: number, end: number] => [
  points[0]?.startedAt ?? 0,
  points.at(-1)?.endedAt ?? 1,
];

function Axes({
  points,
  format,
  threshold,
  children,
}: ChartProps & { readonly children: ReactNode }): ReactNode {
  const top = topOf(points, threshold?.value);
  const [start, end] = spanOf(points);
  return (
    <>
      <div className={css.scale} aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{format(value)}</span>
        ))}
      </div>
      <div className={css.plot}>{children}</div>
      <div className={css.times} aria-hidden="true">
        {ticksOf(start, end).map(({ at, text }) => (
          <span
            key={at}
            style={{ left: `clamp(20px, ${((at - start) / (end - start)) * 100}%, 100% - 20px)` }}
          >
            {text}
          </span>
        ))}
      </div>
    </>
  );
}

interface PlotProps extends ChartProps {
  /** The points under the pointer or chosen. */
  readonly range: readonly [from: number, to: number] | undefined;
}

function Plot({ points, kind, threshold, marks = [], range }: PlotProps): ReactNode {
  const top = topOf(points, threshold?.value);
  const [start, end] = spanOf(points);
  const width = points.length;
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {[0, height / 2, height].map((y) => (
        <line key={y} className={css.grid} x1={0} x2={width} y1={y} y2={y} />
      ))}
      {range && <Band from={range[0]} to={range[1]} />}
      {kind === 'bars' ? <Bars points={points} top={top} /> : <Line points={points} top={top} />}
      {threshold && (
        <Rule className={css.threshold} x={[0, width]} y={height - (threshold.value / top) * height} />
      )}
      {marks
        .filter(({ at }) => at >= start && at < end)
        .map(({ at, text, isBad }) => {
          const x = ((at - start) / (end - start)) * width;
          return (
            <Rule
              key={`${at} ${text}`}
              className={`${css.change} ${isBad ? css.badChange : ''}`}
              x={[x, x]}
            />
          );
        })}
    </svg>
  );
}

/** Tooltip with the values at the pointer, kept within the chart. */
const Tip = ({ share, lines }: { readonly share: number; readonly lines: readonly string[] }): ReactNode => (
  <div
    className={css.tip}
    aria-hidden="true"
    style={{ left: `${share * 100}%`, transform: `translateX(${share * -100}%)` }}
  >
    {lines.map((line) => (
      <p key={line}>{line}</p>
    ))}
  </div>
);

const Band = ({ from, to }: { readonly from: number; readonly to: number }): ReactNode => (
  <rect className={css.mark} x={Math.min(from, to)} width={Math.abs(to - from) + 1} y={0} height={height} />
);

interface RuleProps {
  readonly className: string | undefined;
  readonly x: readonly [number, number];
  /** Absent: from top to bottom. */
  readonly y?: number;
}

const Rule = ({ className, x: [x1, x2], y }: RuleProps): ReactNode => (
  <line className={className} x1={x1} x2={x2} y1={y ?? 0} y2={y ?? height} />
);

interface ShapeProps {
  readonly points: readonly ChartPoint[];
  readonly top: number;
}

const Bars = ({ points, top }: ShapeProps): ReactNode =>
  points.map(({ startedAt, value, bad = 0 }, x) => {
    const [all, failed] = [((value ?? 0) / top) * height, (bad / top) * height];
    return (
      all > 0 && (
        <g key={startedAt}>
          <rect className={css.bar} x={x + 0.1} width={0.8} y={height - all} height={all - failed} />
          <rect className={css.bad} x={x + 0.1} width={0.8} y={height - failed} height={failed} />
        </g>
      )
    );
  });

const Line = ({ points, top }: ShapeProps): ReactNode =>
  runsOf(points).map((run) => {
    const places = run.map(({ index, value }) => `${index + 0.5} ${height - (value / top) * height}`);
    const isAlone = run.length === 1;
    // A single point is a line without length, drawn as a dot.
    const d = `M${places.join('L')}${isAlone ? 'h0' : ''}`;
    return <path key={run[0]?.index} className={`${css.line} ${isAlone ? css.dot : ''}`} d={d} />;
  });

interface SparklineProps {
  readonly values: readonly (number | null)[];
  /** The part of each value that counts failures; absent: the values are drawn as a line. */
  readonly bad?: readonly number[];
}

/** Sparkline: a chart in the height of a line of text. */
export function Sparkline({ values, bad }: SparklineProps): ReactNode {
  const points = values.map((value, index) => ({
    ...{ startedAt: index, endedAt: index + 1, value },
    ...(bad && { bad: bad[index] ?? 0 }),
  }));
  const top = Math.max(...values.map((value) => value ?? 0)) || 1;
  return (
    <svg
      className={css.spark}
      viewBox={`0 0 ${points.length} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {bad ? <Bars points={points} top={top} /> : <Line points={points} top={top} />}
    </svg>
  );
}
