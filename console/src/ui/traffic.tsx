import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ComponentProps, type ReactNode, useCallback } from 'react';
import type { SeriesView } from '../lib/api.js';
import { counted, duration, percent } from '../lib/format.js';
import { seriesQuery } from '../lib/queries.js';
import { type ChartPoint, failingOf, p95Of, rate, ratesOf, sinceFirstCall } from '../lib/series.js';
import type { TimeRange } from '../lib/time-range.js';
import { Chart, ChartGroup } from './chart.js';
import { Card, Note } from './layout.js';
import { Loaded } from './states.js';

type ChartProps = ComponentProps<typeof Chart>;

interface TrafficProps {
  /** Absent: all tools. */
  readonly tool?: string;
  readonly range: TimeRange;
  /** Min success rate of a healthy tool. */
  readonly minSuccess?: number;
  /** Duration of a slow call. */
  readonly slowMs?: number | undefined;
  /** Changes that may explain the figures. */
  readonly marks?: ChartProps['marks'];
}

/** Executions in a time range: their number, those that failed, and their durations. A click leads to the list. */
export function Traffic({ tool, range, minSuccess = 0.95, slowMs, marks = [] }: TrafficProps): ReactNode {
  const series = useQuery(seriesQuery(tool, range));
  const navigate = useNavigate();
  const onPeriod = useCallback(
    (start: number, end: number): void => {
      const [since, until] = [start, end].map((at) => new Date(at).toISOString());
      void navigate({ to: '/executions', search: { tool, since, until } });
    },
    [navigate, tool],
  );
  if (series.data?.total.calls === 0) return <Note>No executions in this period.</Note>;
  const card = (label: string, chartOf: (series: SeriesView) => Omit<ChartProps, 'label'>): ReactNode => (
    <Card title={label}>
      <Loaded query={series} lines={8}>
        {(all) => (
          <Chart
            {...{ label, marks, onPeriod }}
            {...chartOf({ ...all, data: [...sinceFirstCall(all.data)] })}
          />
        )}
      </Loaded>
    </Card>
  );
  return (
    <ChartGroup>
      {card('Requests / min', rates)}
      {card('Failing', (data) => failing(data, minSuccess))}
      {card('p95 duration', (data) => durations(data, slowMs))}
    </ChartGroup>
  );
}

function rates(series: SeriesView): Omit<ChartProps, 'label'> {
  const callsIn = ({ startedAt, endedAt, value, bad = 0 }: ChartPoint): string => {
    const minutes = (endedAt - startedAt) / 60_000;
    const share = bad === 0 ? '' : `, ${Math.round(bad * minutes)} failed`;
    return `${counted(Math.round((value ?? 0) * minutes), 'execution')}${share} (${rate(value ?? 0)} / min)`;
  };
  return {
    ...{ kind: 'bars', points: ratesOf(series, Date.now()), format: rate, describe: callsIn },
  };
}

function failing(series: SeriesView, minSuccess: number): Omit<ChartProps, 'label'> {
  const most = 1 - minSuccess;
  return {
    ...{ kind: 'line', points: failingOf(series), format: percent },
    describe: ({ value }) => (value === null ? 'no executions' : `${percent(value)} failing`),
    threshold: { value: most, text: `Threshold ${percent(most)}` },
  };
}

function durations(series: SeriesView, slowMs: number | undefined): Omit<ChartProps, 'label'> {
  return {
    ...{ kind: 'line', points: p95Of(series), format: duration },
    describe: ({ value }) => (value === null ? 'no executions' : `p95 ${duration(value)}`),
    threshold: slowMs === undefined ? undefined : { value: slowMs, text: `Slow: ${duration(slowMs)}` },
  };
}
