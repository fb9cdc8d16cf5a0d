import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ToolStatsView } from '../../lib/api.js';
import { bytes, duration, number, percent } from '../../lib/format.js';
import {
  circuitQuery,
  newestExecutionsQuery,
  reportQuery,
  revisionsQuery,
  statsQuery,
} from '../../lib/queries.js';
import { usePermission } from '../../lib/session.js';
import { figuresRange, type TimeRange } from '../../lib/time-range.js';
import { EmptyList } from '../../ui/empty-list.js';
import { ExecutionTable } from '../../ui/execution-table.js';
import { FindingsLink } from '../../ui/findings.js';
import { Card, Figures, Row, Stack } from '../../ui/layout.js';
import { FiguresRangePicker } from '../../ui/figures-range.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Traffic } from '../../ui/traffic.js';
import { Callers } from './callers.js';

import { useRegistration } from './use-registration.js';

const route = getRouteApi('/shell/tools/$name/activity');

/** A tool's calls: how many, how fast, and how they ended. */
export function ActivityTab(): ReactNode {
  const { name } = route.useParams();
  const range = figuresRange(route.useSearch());
  const stats = useQuery(statsQuery(name, range));
  const { data: report } = useQuery(reportQuery(name));
  const marks = useMarks(name);
  const newest = useQuery(newestExecutionsQuery(name));
  return (
    <Stack>
      <Row>
        <FiguresRangePicker {...range} />
      </Row>
      <Loaded query={stats}>{(data) => <StatsFigures stats={data} range={range} />}</Loaded>
      <Traffic
        tool={name}
        range={range}
        slowMs={report?.slowCallMs}
        marks={marks}
        {...(report && { minSuccess: report.minSuccessRate })}
      />
      <Callers tool={name} range={range} />
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
              <EmptyList of="executions" isFiltered={false}>
                <Empty title="Nobody has called this tool yet" />
              </EmptyList>
            ) : (
              <ExecutionTable label="Newest executions" rows={data} ofOneTool />
            )
          }
        </Loaded>
      </Card>
    </Stack>
  );
}

/** Revisions of the tool and changes of its circuit. */
function useMarks(name: string) {
  const mayRead = usePermission('tools:admin') === 'yes';
  const { custom, isCertain } = useRegistration(name);
  const { data: revisions = [] } = useQuery({
    ...revisionsQuery(name),
    enabled: mayRead && custom !== undefined,
  });
  const { data: circuit } = useQuery({
    ...circuitQuery(name),
    // An MCP server has none.
    enabled: isCertain && custom?.protocol !== 'mcp',
  });
  return [
    ...revisions.map(({ revision, createdAt }) => ({
      at: Date.parse(createdAt),
      text: `revision ${revision}`,
    })),
    ...(circuit?.history ?? []).map(({ at, to }) => ({
      at: Date.parse(at),
      text: `circuit ${to.replace('_', '-')}`,
      isBad: to === 'open',
    })),
  ];
}

function StatsFigures({ stats, range }: { stats: ToolStatsView; range: TimeRange }): ReactNode {
  const { totalCalls, successRate, errorCount = 0, timeoutCount = 0, avgTimeMs } = stats;
  const { toolName, findingCount = 0 } = stats;
  const { p50TimeMs, p95TimeMs, p99TimeMs, totalInputBytes = 0, totalOutputBytes = 0 } = stats;
  const orNone = (ms: number | undefined): string =>
    totalCalls === 0 || ms === undefined ? '–' : duration(ms);
  const findings = <FindingsLink key="f" tool={toolName} findings={findingCount} range={range} />;
  return (
    <Figures
      figures={[
        ['Calls', number(totalCalls)],
        ['Success', totalCalls === 0 ? '–' : percent(successRate)],
        ['Errors', number(errorCount)],
        ['Timeouts', number(timeoutCount)],
        ['Findings', findingCount > 0 ? findings : '0'],
        ['Average', orNone(avgTimeMs)],
        ['p50', orNone(p50TimeMs)],
        ['p95', orNone(p95TimeMs)],
        ['p99', orNone(p99TimeMs)],
        ['In', bytes(totalInputBytes)],
        ['Out', bytes(totalOutputBytes)],
      ]}
    />
  );
}
