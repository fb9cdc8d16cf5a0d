import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CircuitStateView, ExecutionView, SeriesView } from '../../lib/api.js';
import { duration, number, percent } from '../../lib/format.js';
import {
  customToolsQuery,
  healthQuery,
  investigationsQuery,
  newestFailuresQuery,
  seriesQuery,
  trafficNowQuery,
} from '../../lib/queries.js';
import { rate, sinceFirstCall } from '../../lib/series.js';
import { figuresRange, type TimeRange } from '../../lib/time-range.js';
import { Sparkline } from '../../ui/chart.js';
import { Card, Page, Stack } from '../../ui/layout.js';
import { FiguresRangePicker } from '../../ui/figures-range.js';
import { Empty, Failed, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { Traffic } from '../../ui/traffic.js';
import { Attention, troubles } from './attention.js';
import css from './overview.module.css';
import { TeachingCards } from './teaching-cards.js';

const route = getRouteApi('/shell/');

export function OverviewPage(): ReactNode {
  const range = figuresRange(route.useSearch());
  return (
    <Page name="Overview" actions={<FiguresRangePicker {...range} />}>
      <Overview range={range} />
    </Page>
  );
}

/** Drawn when all its lists are there, so that nothing moves afterwards. */
function Overview({ range }: { readonly range: TimeRange }): ReactNode {
  const health = useQuery(healthQuery);
  const custom = useQuery(customToolsQuery);
  const failures = useQuery(newestFailuresQuery);
  const { data: series } = useQuery(seriesQuery(undefined, range));
  const { data: investigations = [] } = useQuery(investigationsQuery);
  const failed = [health, custom, failures].find(({ error, data }) => error && !data);
  if (failed) return <Failed error={failed.error} retry={() => void failed.refetch()} />;
  if (!health.data || !custom.data || !failures.data) return <Loading figures={4} lines={20} />;
  // Reports of one project do not say when a tool was last used.
  if (health.data.toolReports.every(({ lastUsed, totalCalls }) => lastUsed === null && totalCalls === 0)) {
    if (!series) return <Loading figures={4} lines={20} />;
    if (series.total.calls === 0) return <TeachingCards />;
  }
  // Without calls a tool that cannot start has no grade that would show it.
  const broken = custom.data.filter(({ status }) => status === 'error');
  const faults = new Map(broken.map(({ name, errorMessage }) => [name, errorMessage ?? '']));
  const spent = Map.groupBy(
    investigations.flatMap(({ tools }) => tools.filter(({ remaining }) => remaining === 0)),
    ({ tool }) => tool,
  );
  return (
    <Stack>
      <KeyFigures series={series} circuits={health.data.circuits} />
      <div className={css.columns}>
        <Attention list={troubles(health.data, faults, spent)} summary={health.data.summary} />
        <NewestFailures rows={failures.data} />
      </div>
      <Traffic range={range} />
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
        {rows.map(({ metricId, project, toolName, status, errorType, errorMessage, recordedAt }) => (
          <li key={metricId} title={errorMessage ?? undefined}>
            <Link to="/executions/$id" params={{ id: metricId }} search={{ project }}>
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
  readonly circuits: readonly CircuitStateView[];
}

type Total = SeriesView['total'];
const successOf = ({ calls, errors, timeouts }: Total): number => 1 - (errors + timeouts) / calls;

/** The figures of the last five minutes, their change against the hour before, and their course over the period. */
function KeyFigures({ series, circuits }: KeyFiguresProps): ReactNode {
  const { data: now } = useQuery(trafficNowQuery);
  const recent = now?.recent.total;
  const before = now?.before.total;
  const perMinute = now && now.recent.total.calls / now.minutes;
  const perMinuteBefore = before && before.calls / minutesWith(now.before);
  const points = sinceFirstCall(series?.data ?? []);
  const failures = points.map((point) => point.errors + point.timeouts);
  const success = points.map((point, index) =>
    point.calls === 0 ? null : 1 - (failures[index] ?? 0) / point.calls,
  );
  const names = circuits
    .map(({ tool, state }) => (state === 'open' ? tool : `${tool} (half-open)`))
    .join(', ');
  const compared = before !== undefined && before.calls > 0 && recent !== undefined && recent.calls > 0;
  return (
    <dl className={css.figures}>
      <Figure
        name="Requests / min"
        value={perMinute === undefined ? '–' : perMinute > 0 && perMinute < 0.01 ? '< 0.01' : rate(perMinute)}
        change={
          compared && perMinuteBefore ? changeOf((perMinute ?? 0) / perMinuteBefore - 1, wholePercent) : ''
        }
      >
        <Sparkline values={points.map((point) => point.calls)} bad={failures} />
      </Figure>
      <Figure
        name="Success"
        value={!recent || recent.calls === 0 ? '–' : percent(successOf(recent))}
        change={compared ? changeOf(successOf(recent) - successOf(before), percentagePoints) : ''}
      >
        <Sparkline values={success} />
      </Figure>
      <Figure
        name="p95 duration"
        value={recent?.p95TimeMs == null ? '–' : duration(recent.p95TimeMs)}
        change={compared ? changeOf((recent.p95TimeMs ?? 0) - (before.p95TimeMs ?? 0), duration) : ''}
      >
        <Sparkline values={points.map((point) => point.p95TimeMs)} />
      </Figure>
      <Figure name="Open circuits" value={number(circuits.filter(({ state }) => state === 'open').length)}>
        <span title={names}>{names}</span>
      </Figure>
    </dl>
  );
}

/** Minutes from the first call on: the hour before a young server's first call is no hour without calls. */
const minutesWith = (series: SeriesView): number =>
  (sinceFirstCall(series.data).length * series.bucketMs) / 60_000;

const wholePercent = (share: number): string => `${Math.round(share * 100)} %`;
const percentagePoints = (share: number): string => percent(share).replace('%', 'points');

/** "+ 12 %", "− 3.4 ms", "" for no change. */
const changeOf = (difference: number, format: (value: number) => string): string => {
  const text = format(Math.abs(difference));
  return text === format(0) ? '' : `${difference < 0 ? '−' : '+'} ${text}`;
};

interface FigureProps {
  readonly name: string;
  readonly value: string;
  /** Absent: the figure is no mean of the last five minutes. Empty: it did not change. */
  readonly change?: string;
  readonly children: ReactNode;
}

const Figure = ({ name, value, change, children }: FigureProps): ReactNode => (
  <div>
    <dt>
      {name}
      {change !== undefined && (
        <span title={change && 'Against the hour before'}>
          {change ? `${change} · last 5 min` : 'last 5 min'}
        </span>
      )}
    </dt>
    <dd>
      <span>{value}</span>
      <span className={css.course}>{children}</span>
    </dd>
  </div>
);
