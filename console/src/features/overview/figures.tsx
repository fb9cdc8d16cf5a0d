import type { ReactNode } from 'react';
import type { CircuitStateView, SeriesView } from '../../lib/api.js';
import { duration, number, percent } from '../../lib/format.js';
import { rate } from '../../lib/series.js';
import { Sparkline } from '../../ui/chart.js';
import css from './overview.module.css';

interface KeyFiguresProps {
  /** Absent while it is loading: the figures keep their place. */
  readonly series: SeriesView | undefined;
  readonly hours: number;
  readonly circuits: readonly CircuitStateView[];
}

/** The four figures that an operator looks at first, with their course over the period. */
export function KeyFigures({ series, hours, circuits }: KeyFiguresProps): ReactNode {
  const { calls = 0, errors = 0, timeouts = 0, p95TimeMs = null } = series?.total ?? {};
  const perMinute = calls / (hours * 60);
  const points = series?.data ?? [];
  const failures = points.map((point) => point.errors + point.timeouts);
  const success = points.map((point, index) =>
    point.calls === 0 ? null : 1 - (failures[index] ?? 0) / point.calls,
  );
  const open = circuits.filter(({ state }) => state === 'open');
  const names = circuits
    .map(({ tool, state }) => (state === 'open' ? tool : `${tool} (half-open)`))
    .join(', ');
  return (
    <dl className={css.figures}>
      <Figure
        name="Requests / min"
        value={!series ? '–' : calls > 0 && perMinute < 0.01 ? '< 0.01' : rate(perMinute)}
      >
        <Sparkline values={points.map((point) => point.calls)} bad={failures} />
      </Figure>
      <Figure name="Success" value={calls === 0 ? '–' : percent(1 - (errors + timeouts) / calls)}>
        <Sparkline values={success} />
      </Figure>
      <Figure name="p95 duration" value={p95TimeMs === null ? '–' : duration(p95TimeMs)}>
        <Sparkline values={points.map((point) => point.p95TimeMs)} />
      </Figure>
      <Figure name="Open circuits" value={number(open.length)}>
        <span title={names}>{names}</span>
      </Figure>
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly children: ReactNode;
}

const Figure = ({ name, value, children }: FigureProps): ReactNode => (
  <div>
    <dt>{name}</dt>
    <dd>
      <span>{value}</span>
      <span className={css.course}>{children}</span>
    </dd>
  </div>
);
