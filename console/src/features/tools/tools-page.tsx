import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { customToolsQuery, healthSummaryQuery, openCircuitsQuery, toolsQuery } from '../../lib/queries.js';
import { duration, number, percent } from '../../lib/format.js';
import { usePermission } from '../../lib/session.js';
import { useChange } from '../../lib/use-change.js';
import { CircuitBadge } from '../../ui/circuit-badge.js';
import { Badge, buttonLook, Tag } from '../../ui/controls.js';
import { FilterBar, FilterSelect, FilterText } from '../../ui/filters.js';
import { Page, Panel, Row, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { StatusBadge, statusNames } from '../../ui/status-badge.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { type ToolRow, toolRows, type Wanted, wantedRows } from './tool-rows.js';

const route = getRouteApi('/shell/tools');

const circuitNames = { open: 'open', half_open: 'half-open', closed: 'closed' } as const;

const columns = [
  {
    ...{ name: 'Tool', cut: true, isMono: true, width: 236 },
    cell: ({ name }: ToolRow) => (
      <Link to="/tools/$name/activity" params={{ name }} title={name}>
        {name}
      </Link>
    ),
  },
  {
    name: 'Health',
    width: 150,
    cell: ({ grade, status, circuit }: ToolRow) => (
      <Row>
        {grade === undefined ? '–' : <Badge state={grade} />}
        <StatusBadge status={status} />
        {circuit !== 'closed' && <CircuitBadge state={circuit} />}
      </Row>
    ),
  },
  { ...{ name: 'Kind', width: 80, isOptional: true }, cell: ({ kind }: ToolRow) => <Tag>{kind}</Tag> },
  { name: 'Calls, 1 h', isNumber: true, cell: ({ calls }: ToolRow) => number(calls) },
  {
    name: 'Success',
    isNumber: true,
    cell: ({ calls, successRate }: ToolRow) => (calls === 0 ? '–' : percent(successRate)),
  },
  {
    name: 'Average',
    isNumber: true,
    cell: ({ calls, latencyMs }: ToolRow) => (calls === 0 ? '–' : duration(latencyMs)),
  },
  {
    ...{ name: 'Last used', width: 96, isOptional: true },
    cell: ({ lastUsed }: ToolRow) => (lastUsed === null ? '–' : <Time at={lastUsed} />),
  },
  {
    ...{ name: 'What it does', cut: true, isOptional: true },
    cell: ({ description }: ToolRow) => <span title={description}>{description}</span>,
  },
];

interface ToolFiltersProps {
  readonly search: Wanted;
  readonly change: (changes: Wanted) => void;
}

function ToolFilters({ search, change }: ToolFiltersProps): ReactNode {
  return (
    <FilterBar label="Tools">
      <FilterText label="Name or description" value={search.q} onChange={(q) => change({ q })} />
      <FilterSelect
        label="Health"
        value={search.grade}
        options={['healthy', 'degraded', 'unhealthy', 'unknown']}
        onChange={(grade) => change({ grade })}
      />
      <FilterSelect
        label="Circuit"
        value={search.circuit}
        options={['open', 'half_open', 'closed']}
        names={circuitNames}
        onChange={(circuit) => change({ circuit })}
      />
      <FilterSelect
        label="Kind"
        value={search.kind}
        options={['builtin', 'custom', 'mcp', 'server']}
        onChange={(kind) => change({ kind })}
      />
      <FilterSelect
        label="Status"
        value={search.status}
        options={['active', 'inactive', 'error']}
        names={statusNames}
        onChange={(status) => change({ status })}
      />
      <FilterSelect
        label="Order"
        value={search.sort}
        none="name"
        options={['calls', 'success', 'latency', 'used']}
        onChange={(sort) => change({ sort })}
      />
    </FilterBar>
  );
}

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
        <ToolFilters search={search} change={change} />
        <Panel>
          <Loaded query={tools}>
            {(data) => {
              const rows = wantedRows(toolRows(data, custom, health?.tools ?? {}, circuits), search);
              return rows.length === 0 ? (
                <Empty title={data.length === 0 ? 'No tools registered' : 'No tools match these filters'} />
              ) : (
                <Table
                  label="Tools"
                  asCards
                  rows={rows}
                  columns={columns}
                  keyOf={({ name }) => name}
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
