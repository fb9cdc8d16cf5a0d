import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ToolStatsView } from '../../lib/api.js';
import { bytes, duration, number, percent } from '../../lib/format.js';
import { newestExecutionsQuery, statsQuery } from '../../lib/queries.js';
import { ExecutionTable } from '../../ui/execution-table.js';
import { Card, Figures, Row, Stack } from '../../ui/layout.js';
import { hoursOf, PeriodSelect } from '../../ui/period.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Traffic } from '../../ui/traffic.js';

const route = getRouteApi('/shell/tools/$name/activity');

/** A tool's calls: how many, how fast, and how they ended. */
export function ActivityTab(): ReactNode {
  const { name } = route.useParams();
  const { period } = route.useSearch();
  const stats = useQuery(statsQuery(name, hoursOf(period)));
  const newest = useQuery(newestExecutionsQuery({ tool: name, limit: 20 }));
  return (
    <Stack>
      <Row>
        <PeriodSelect period={period} />
      </Row>
      <Loaded query={stats} lines={2}>
        {(data) => <StatsFigures stats={data} />}
      </Loaded>
      <Traffic tool={name} hours={hoursOf(period)} />
      <Card
        title="Newest executions"
        flush
        actions={
          <Link to="/executions" search={{ tool: name }}>
            All of this tool
          </Link>
        }
      >
        <Loaded query={newest}>
          {(data) =>
            data.length === 0 ? (
              <Empty title="Nobody has called this tool yet" />
            ) : (
              <ExecutionTable label="Newest executions" rows={data} ofOneTool />
            )
          }
        </Loaded>
      </Card>
    </Stack>
  );
}

function StatsFigures({ stats }: { readonly stats: ToolStatsView }): ReactNode {
  const { totalCalls, successRate, errorCount = 0, timeoutCount = 0, avgTimeMs } = stats;
  const { p50TimeMs, p95TimeMs, p99TimeMs, totalInputBytes = 0, totalOutputBytes = 0 } = stats;
  const orNone = (ms: number | undefined): string =>
    totalCalls === 0 || ms === undefined ? '–' : duration(ms);
  return (
    <Figures
      figures={[
        ['Calls', number(totalCalls)],
        ['Success', totalCalls === 0 ? '–' : percent(successRate)],
        ['Errors', number(errorCount)],
        ['Time-outs', number(timeoutCount)],
        ['Average', orNone(avgTimeMs)],
        ['Median', orNone(p50TimeMs)],
        ['95 % within', orNone(p95TimeMs)],
        ['99 % within', orNone(p99TimeMs)],
        ['In', bytes(totalInputBytes)],
        ['Out', bytes(totalOutputBytes)],
      ]}
    />
  );
}
