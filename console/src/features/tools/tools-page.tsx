import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { customToolsQuery, healthSummaryQuery, openCircuitsQuery, toolsQuery } from '../../lib/queries.js';
import { duration, number, percent } from '../../lib/format.js';
import { usePermission } from '../../lib/session.js';
import { useChange } from '../../lib/use-change.js';
import { CircuitBadge } from '../../ui/circuit-badge.js';
import { Badge, buttonLook, Tag } from '../../ui/controls.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Page, Panel, Row, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { StatusBadge, statusNames } from '../../ui/status-badge.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { type ToolRow, toolRows, type Wanted, wantedRows } from './tool-rows.js';

const route = getRouteApi('/shell/tools');

/** The worst first. */
const grades = ['unhealthy', 'degraded', 'healthy', 'unknown'] as const;

/** Without calls there is no rate and no duration. */
const called = <T,>({ calls }: ToolRow, value: T): T | null => (calls === 0 ? null : value);
const keyOf = ({ name }: ToolRow): string => name;

const columns: readonly Column<ToolRow>[] = [
  {
    ...{ name: 'Tool', cut: true, isMono: true, width: 236 },
    cell: ({ name }) => (
      <Link to="/tools/$name/activity" params={{ name }} title={name}>
        {name}
      </Link>
    ),
  },
  {
    ...{ name: 'Health', width: 196, card: 'state' },
    sort: { by: 'health', value: ({ grade }) => grades.indexOf(grade ?? 'unknown') },
    cell: ({ grade, status, circuit }) => (
      <Row>
        {grade === undefined || grade === 'unknown' ? '–' : <Badge state={grade} />}
        <StatusBadge status={status} />
        {circuit !== 'closed' && <CircuitBadge state={circuit} />}
      </Row>
    ),
  },
  { ...{ name: 'Kind', width: 80, isOptional: true }, cell: ({ kind }) => <Tag>{kind}</Tag> },
  {
    ...{ name: 'Calls, 1 h', isNumber: true },
    sort: { by: 'calls', value: ({ calls }) => calls, isDescending: true },
    cell: ({ calls }) => number(calls),
  },
  {
    ...{ name: 'Success', isNumber: true },
    sort: { by: 'success', value: (row) => called(row, row.successRate) },
    cell: (row) => called(row, percent(row.successRate)) ?? '–',
  },
  {
    ...{ name: 'Average', isNumber: true },
    sort: { by: 'latency', value: (row) => called(row, row.latencyMs), isDescending: true },
    cell: (row) => called(row, duration(row.latencyMs)) ?? '–',
  },
  {
    ...{ name: 'Last used', width: 96, isOptional: true },
    sort: { by: 'used', value: ({ lastUsed }) => lastUsed, isDescending: true },
    cell: ({ lastUsed }) => (lastUsed === null ? '–' : <Time at={lastUsed} />),
  },
  {
    ...{ name: 'Description', cut: true, isOptional: true },
    cell: ({ description }) => <span title={description}>{description}</span>,
  },
];

const filters: readonly Filter[] = [
  { key: 'grade', label: 'Health', options: grades },
  {
    key: 'circuit',
    label: 'Circuit',
    options: ['open', 'half_open', 'closed'],
    names: { half_open: 'half-open' },
  },
  { key: 'kind', label: 'Kind', options: ['builtin', 'custom', 'mcp', 'server'] },
  { key: 'status', label: 'Status', options: ['active', 'inactive', 'error'], names: statusNames },
];

export function ToolsPage(): ReactNode {
  const search = route.useSearch();
  const mayRegister = usePermission('tools:admin');
  const navigate = route.useNavigate();
  const tools = useQuery(toolsQuery);
  const { data: custom = [] } = useQuery(customToolsQuery);
  const { data: health } = useQuery(healthSummaryQuery);
  const { data: circuits = [] } = useQuery(openCircuitsQuery);
  const change = useChange<Wanted>();
  return (
    <Page
      name="Tools"
      actions={
        mayRegister !== 'no' && (
          <Link to="/tools/new" className={buttonLook('primary')}>
            Register a tool
          </Link>
        )
      }
    >
      <Stack>
        <FilterBar
          label="Tools"
          search={search}
          text={{ key: 'q', label: 'Search tools', placeholder: 'Name or description' }}
          filters={filters}
        />
        <Panel>
          <Loaded query={tools}>
            {(data) => {
              const rows = wantedRows(toolRows(data, custom, health?.tools ?? {}, circuits), search);
              return rows.length === 0 ? (
                <Empty title={data.length === 0 ? 'No tools registered' : 'No tools match these filters'} />
              ) : (
                <Table
                  label="Tools"
                  rows={rows}
                  columns={columns}
                  keyOf={keyOf}
                  sort={{ by: search.sort, change: (sort) => change({ sort }) }}
                  onOpen={({ name }) => void navigate({ to: '/tools/$name/activity', params: { name } })}
                />
              );
            }}
          </Loaded>
        </Panel>
      </Stack>
    </Page>
  );
}
