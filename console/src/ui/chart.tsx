import { type ReactNode, useState } from 'react';
import { timeSpan } from '../lib/format.js';
import { type ChartPoint, runsOf, topOf } from '../lib/series.js';
import css from './chart.module.css';
import { Probe } from './probe.js';

interface ChartProps {
  readonly label: string;
  readonly points: readonly ChartPoint[];
  /** Amounts stand as bars, a figure that goes up and down as a line. */
  readonly kind: 'bars' | 'line';
  readonly format: (value: number) => string;
  /** The words for a point, beside its time. */
  readonly describe: (point: ChartPoint) => string;
  /** The whole in a sentence. */
  readonly summary: string;
}

const height = 100;

/** A figure over time. Each point can be read by the pointer, by the arrow keys, and by a screen reader. */
export function Chart({ label, points, kind, format, describe, summary }: ChartProps): ReactNode {
  const [at, setAt] = useState<number>();
  const top = topOf(points);
  const textOf = (index: number): string => {
    const point = points[index];
    return point ? `${timeSpan(point.startedAt, point.endedAt)}: ${describe(point)}` : '';
  };
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return null;
  return (
    <figure className={css.chart}>
      <figcaption>{at === undefined ? summary : textOf(at)}</figcaption>
      <div className={css.scale} aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{format(value)}</span>
        ))}
      </div>
      <div className={css.plot}>
        <svg viewBox={`0 0 ${points.length} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {[0, height / 2, height].map((y) => (
            <line key={y} className={css.grid} x1={0} x2={points.length} y1={y} y2={y} />
          ))}
          {at !== undefined && <rect className={css.mark} x={at} width={1} y={0} height={height} />}
          {kind === 'bars' ? <Bars points={points} top={top} /> : <Line points={points} top={top} />}
        </svg>
        <Probe label={label} count={points.length} at={at} onAt={setAt} textOf={textOf} />
      </div>
      <div className={css.times} aria-hidden="true">
        <span>{timeSpan(first.startedAt)}</span>
        <span>{timeSpan((first.startedAt + last.endedAt) / 2)}</span>
        <span>now</span>
      </div>
    </figure>
  );
}

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
    // A point that stands alone is a line without length, drawn as a dot.
    const d = `M${places.join('L')}${isAlone ? 'h0' : ''}`;
    return <path key={run[0]?.index} className={`${css.line} ${isAlone ? css.dot : ''}`} d={d} />;
  });
