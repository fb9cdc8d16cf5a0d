import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { circuitQuery, customToolsQuery, healthSummaryQuery, toolQuery } from '../../lib/queries.js';
import { Badge, Tag } from '../../ui/controls.js';
import { Note, Page, Stack } from '../../ui/layout.js';
import { Failed, Loading } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { ToolActions } from './tool-actions.js';

const route = getRouteApi('/shell/tools/$name');

const tabs = [
  { to: '/tools/$name/activity', name: 'Activity' },
  { to: '/tools/$name/try', name: 'Try' },
  { to: '/tools/$name/health', name: 'Health' },
  { to: '/tools/$name/circuit', name: 'Circuit' },
] as const;
/** Of registered executables alone. */
const customTabs = [
  { to: '/tools/$name/logs', name: 'Logs' },
  { to: '/tools/$name/revisions', name: 'Revisions' },
  { to: '/tools/$name/settings', name: 'Settings' },
] as const;

/** One tool: what it is, how it is, and its screens. */
export function ToolFrame(): ReactNode {
  const { name } = route.useParams();
  const tool = useQuery(toolQuery(name));
  const { data: registered } = useQuery(customToolsQuery);
  const { data: health } = useQuery(healthSummaryQuery);
  const { data: circuit } = useQuery({ ...circuitQuery(name), retry: false });
  const custom = registered?.find((each) => each.name === name);
  // A tool that is disabled or cannot start is not callable, and still has its history.
  if (!tool.data && !custom) {
    return (
      <Page name={name}>
        {tool.error && registered ? (
          <Failed error={tool.error} retry={() => void tool.refetch()} />
        ) : (
          <Loading />
        )}
      </Page>
    );
  }
  return (
    <Page
      name={name}
      title={
        <>
          {name}
          <Badge state={health?.tools[name]?.status ?? 'unknown'} />
          {custom && custom.status !== 'active' && <Badge state={custom.status} />}
          {circuit && circuit.state !== 'closed' && <Badge state={`circuit ${circuit.state}`} tone="bad" />}
          <Tag>{tool.data?.kind ?? 'custom'}</Tag>
        </>
      }
      about={tool.data?.description ?? custom?.description}
      actions={custom && <ToolActions custom={custom} />}
    >
      {custom && custom.errorMessage !== null && (
        <Stack>
          <Note tone="bad">{custom.errorMessage}</Note>
        </Stack>
      )}
      <Tabs label={name}>
        {[...tabs, ...(custom ? customTabs : [])].map(({ to, name: title }) => (
          <Link key={to} to={to} params={{ name }} activeOptions={{ includeSearch: false }}>
            {title}
          </Link>
        ))}
      </Tabs>
      <Outlet />
    </Page>
  );
}
