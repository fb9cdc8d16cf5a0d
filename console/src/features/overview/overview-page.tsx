import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import type { DashboardView } from '../../lib/api.js';
import { duration } from '../../lib/format.js';
import {
  customToolsQuery,
  dashboardQuery,
  newestExecutionsQuery,
  openCircuitsQuery,
  toolsQuery,
} from '../../lib/queries.js';
import { Card, Columns, Page, Row, Stack } from '../../ui/layout.js';
import { ExecutionTable } from '../../ui/execution-table.js';
import { hoursOf, PeriodSelect } from '../../ui/period.js';
import { Empty, Loaded, Loading } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { AllWell, AttentionCard } from './attention-card.js';
import { TeachingCards } from './teaching-cards.js';

const worst = ['unhealthy', 'degraded'];

const route = getRouteApi('/shell/');

/** Broken tools come first: the charts may come a moment later. */
const Traffic = lazy(() => import('../../ui/traffic.js').then(({ Traffic: it }) => ({ default: it })));

export function OverviewPage(): ReactNode {
  const dashboard = useQuery(dashboardQuery);
  return (
    <Page name="Overview">
      <Loaded query={dashboard}>{(data) => <Overview dashboard={data} />}</Loaded>
    </Page>
  );
}

function Overview({ dashboard }: { readonly dashboard: DashboardView }): ReactNode {
  const tools = useQuery(toolsQuery);
  const recent = useQuery(newestExecutionsQuery({ limit: 10 }));
  const { period } = route.useSearch();
  const isFresh = recent.data?.length === 0;
  return (
    <Stack>
      <Attention dashboard={dashboard} isFresh={isFresh} />
      {isFresh && tools.data && <TeachingCards tools={tools.data} />}
      {!isFresh && (
        <>
          <Row>
            <PeriodSelect period={period} />
          </Row>
          <Suspense fallback={<Loading lines={9} />}>
            <Traffic hours={hoursOf(period)} />
          </Suspense>
          <Columns>
            <Card title="Newest executions" flush actions={<Link to="/executions">All</Link>}>
              <Loaded query={recent}>
                {(data) => <ExecutionTable label="Newest executions" rows={data} />}
              </Loaded>
            </Card>
            <Card title="Slowest" flush>
              <Slowest dashboard={dashboard} />
            </Card>
          </Columns>
        </>
      )}
    </Stack>
  );
}

interface AttentionProps {
  readonly dashboard: DashboardView;
  /** Whether there were no calls yet, so that "all healthy" would be misleading. */
  readonly isFresh: boolean;
}

/** Tools that need attention, worst first. */
function Attention({ dashboard, isFresh }: AttentionProps): ReactNode {
  // Tools without a grade need no attention.
  const attention = dashboard.toolsNeedingAttention
    .filter(({ status }) => worst.includes(status))
    .sort((a, b) => worst.indexOf(a.status) - worst.indexOf(b.status) || a.successRate - b.successRate);
  const { data: circuits = [] } = useQuery(openCircuitsQuery);
  const broken = useBroken();
  const ailing = new Set([
    ...broken.keys(),
    ...circuits.map(({ tool }) => tool),
    ...attention.map(({ toolName }) => toolName),
  ]);
  return (
    <Stack tight>
      {[...ailing].map((name) => (
        <AttentionCard
          key={name}
          tool={name}
          report={attention.find(({ toolName }) => toolName === name)}
          circuit={circuits.find(({ tool }) => tool === name)}
          fault={broken.get(name)}
        />
      ))}
      {ailing.size === 0 && !isFresh && <AllWell summary={dashboard.summary} />}
    </Stack>
  );
}

/** Tools that cannot start, with the reason. Without calls they have no grade that would show it. */
function useBroken(): ReadonlyMap<string, string> {
  const { data = [] } = useQuery(customToolsQuery);
  const broken = data.filter(({ status }) => status === 'error');
  return new Map(broken.map(({ name, errorMessage }) => [name, errorMessage ?? '']));
}

function Slowest({ dashboard: { slowExecutions } }: { readonly dashboard: DashboardView }): ReactNode {
  if (slowExecutions.length === 0) return <Empty title="No slow execution" />;
  return (
    <Table
      label="Slowest executions"
      rows={slowExecutions}
      keyOf={({ toolName, recordedAt, executionTimeMs }) => `${toolName} ${recordedAt} ${executionTimeMs}`}
      columns={[
        {
          ...{ name: 'Tool', cut: true, isMono: true },
          cell: ({ toolName }) => (
            <Link to="/tools/$name/activity" params={{ name: toolName }}>
              {toolName}
            </Link>
          ),
        },
        { name: 'Took', isNumber: true, cell: ({ executionTimeMs }) => duration(executionTimeMs) },
        { name: 'When', isNumber: true, cell: ({ recordedAt }) => <Time at={recordedAt} /> },
      ]}
    />
  );
}
