import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CircuitStateView, ExecutionView, SeriesView } from '../../lib/api.js';
import { duration, number, percent } from '../../lib/format.js';
import { customToolsQuery, healthQuery, newestFailuresQuery, seriesQuery } from '../../lib/queries.js';
import { rate } from '../../lib/series.js';
import { Sparkline } from '../../ui/chart.js';
import { Card, Page, Stack } from '../../ui/layout.js';
import { hoursOf, PeriodModes } from '../../ui/period-modes.js';
import { Empty, Failed, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { Traffic } from '../../ui/traffic.js';
import { Attention, troubles } from './attention.js';
import css from './overview.module.css';
import { TeachingCards } from './teaching-cards.js';

const route = getRouteApi('/shell/');

export function OverviewPage(): ReactNode {
  const { period } = route.useSearch();
  return (
    <Page name="Overview" actions={<PeriodModes period={period} />}>
      <Overview hours={hoursOf(period)} />
    </Page>
  );
}

/** Drawn when all its lists are there, so that nothing moves afterwards. */
function Overview({ hours }: { readonly hours: number }): ReactNode {
  const health = useQuery(healthQuery);
  const custom = useQuery(customToolsQuery);
  const failures = useQuery(newestFailuresQuery);
  const { data: series } = useQuery(seriesQuery(undefined, hours));
  const failed = [health, custom, failures].find(({ error, data }) => error && !data);
  if (failed) return <Failed error={failed.error} retry={() => void failed.refetch()} />;
  if (!health.data || !custom.data || !failures.data) return <Loading lines={20} />;
  if (health.data.toolReports.every(({ lastUsed }) => lastUsed === null)) return <TeachingCards />;
  // Without calls a tool that cannot start has no grade that would show it.
  const broken = custom.data.filter(({ status }) => status === 'error');
  const faults = new Map(broken.map(({ name, errorMessage }) => [name, errorMessage ?? '']));
  return (
    <Stack>
      <KeyFigures series={series} hours={hours} circuits={health.data.circuits} />
      <div className={css.columns}>
        <Attention list={troubles(health.data, faults)} summary={health.data.summary} />
        <NewestFailures rows={failures.data} />
      </div>
      <Traffic hours={hours} />
    </Stack>
  );
}

const NewestFailures = ({ rows }: { readonly rows: readonly ExecutionView[] }): ReactNode => (
  <Card
    title="Newest failures"
    flush
    actions={
      <Link to="/executions" search={{ status: 'error' }}>
        All
      </Link>
    }
  >
    {rows.length === 0 ? (
      <Empty title="No failures" />
    ) : (
      <ul className={css.failures}>
        {rows.map(({ metricId, toolName, status, errorType, errorMessage, recordedAt }) => (
          <li key={metricId} title={errorMessage ?? undefined}>
            <Link to="/executions/$id" params={{ id: metricId }}>
              {toolName}
            </Link>
            <code>{errorType ?? status}</code>
            <Time at={recordedAt} />
          </li>
        ))}
      </ul>
    )}
  </Card>
);

interface KeyFiguresProps {
  /** Absent while it is loading: the figures keep their place. */
  readonly series: SeriesView | undefined;
  readonly hours: number;
  readonly circuits: readonly CircuitStateView[];
}

/** The four figures that an operator looks at first, with their course over the period. */
function KeyFigures({ series, hours, circuits }: KeyFiguresProps): ReactNode {
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
