import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { SeriesView } from '../lib/api.js';
import { counted, duration } from '../lib/format.js';
import { seriesQuery } from '../lib/queries.js';
import { type ChartPoint, p95Of, ratesOf } from '../lib/series.js';
import { Chart } from './chart.js';
import { Card, Columns, Note } from './layout.js';
import { Loaded } from './states.js';

interface TrafficProps {
  /** Absent: of all tools together. */
  readonly tool?: string;
  /** Back from now. */
  readonly hours: number;
}

/** Executions over a period: their number, those that failed, and their durations. */
export function Traffic({ tool, hours }: TrafficProps): ReactNode {
  const series = useQuery(seriesQuery(tool, hours));
  if (series.data?.data.every(({ calls }) => calls === 0)) return <Note>Nothing ran in this time.</Note>;
  return (
    <Columns>
      <Card title="Executions a minute">
        <Loaded query={series} lines={6}>
          {(data) => <Rates series={data} />}
        </Loaded>
      </Card>
      <Card title="95 % end within">
        <Loaded query={series} lines={6}>
          {(data) => <Durations series={data} />}
        </Loaded>
      </Card>
    </Columns>
  );
}

const rates = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const rate = (value: number): string => rates.format(value);

function Rates({ series }: { readonly series: SeriesView }): ReactNode {
  const points = ratesOf(series, Date.now());
  const calls = sum(series.data.map((point) => point.calls));
  const failed = sum(series.data.map(({ errors, timeouts }) => errors + timeouts));
  const callsIn = ({ startedAt, endedAt, value, bad = 0 }: ChartPoint): string => {
    const minutes = (endedAt - startedAt) / 60_000;
    const share = bad === 0 ? '' : `, ${Math.round(bad * minutes)} of them failed`;
    return `${counted(Math.round((value ?? 0) * minutes), 'execution')}${share} (${rate(value ?? 0)} a minute)`;
  };
  return (
    <Chart
      label="Executions a minute"
      kind="bars"
      points={points}
      format={rate}
      describe={callsIn}
      summary={`${counted(calls, 'execution')}, ${failed === 0 ? 'none' : failed} of them failed`}
    />
  );
}

function Durations({ series }: { readonly series: SeriesView }): ReactNode {
  const points = p95Of(series);
  const worst = points.reduce((most, { value }) => Math.max(most, value ?? 0), 0);
  return (
    <Chart
      label="95 % of executions end within"
      kind="line"
      points={points}
      format={duration}
      describe={({ value }) => (value === null ? 'nothing ran' : `95 % ended within ${duration(value)}`)}
      summary={`At worst ${duration(worst)}`}
    />
  );
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
