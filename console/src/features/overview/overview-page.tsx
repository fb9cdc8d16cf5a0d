import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView } from '../../lib/api.js';
import { customToolsQuery, healthQuery, newestFailuresQuery, seriesQuery } from '../../lib/queries.js';
import { Card, Page, Stack } from '../../ui/layout.js';
import { hoursOf, PeriodModes } from '../../ui/period-modes.js';
import { Empty, Failed, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { Traffic } from '../../ui/traffic.js';
import { Attention, troubles } from './attention.js';
import { KeyFigures } from './figures.js';
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
