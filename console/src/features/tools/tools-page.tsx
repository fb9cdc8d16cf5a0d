import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { allTools, type ListedTool, serverOf } from '../../lib/all-tools.js';
import type {
  CircuitStateView,
  CustomToolView,
  SystemHealthView,
  ToolReportView,
  ToolView,
} from '../../lib/api.js';
import { duration, number, percent } from '../../lib/format.js';
import { useProject } from '../../lib/project.js';
import { customToolsQuery, healthQuery, toolsQuery } from '../../lib/queries.js';
import type { toolsSearch } from '../../lib/searches.js';
import { usePermission } from '../../lib/session.js';
import { unavailableNames } from '../../lib/unavailable.js';
import { byUrgency, courseOf, failingShare, needsAttention, type Standing } from '../../lib/urgency.js';
import { useChange } from '../../lib/use-change.js';
import { Sparkline } from '../../ui/chart.js';
import { buttonLook, stateName, Tag } from '../../ui/controls.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { FindingsLink } from '../../ui/findings.js';
import { sinceOf } from '../../ui/grade-line.js';
import { Muted, Page, Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Since, Time } from '../../ui/time.js';
import { ReportState, ToolState } from '../../ui/tool-state.js';
import css from './tools.module.css';

const route = getRouteApi('/shell/tools');

/** The worst first. */
const grades = ['unhealthy', 'degraded', 'healthy', 'unknown'] as const;

/** Tools that fail now come first, then the worst grade. */
const healthRank = (report: ToolReportView | undefined): number =>
  report && courseOf(report) === 'failing' ? -1 : grades.indexOf(report?.status ?? 'unknown');

const keyOf = ({ name }: ToolRow): string => name;

/** A figure of the last hour, or of the outage; a tool without calls has none. */
const figure =
  (of: (report: ToolReportView) => number) =>
  ({ report }: ToolRow): number | null =>
    report && report.totalCalls > 0 ? of(report) : null;
const calls = figure(({ totalCalls }) => totalCalls);
const failing = figure(failingShare);
const average = figure(({ avgLatencyMs }) => avgLatencyMs);
const shown = (value: number | null, format: (value: number) => string): string =>
  value === null ? '' : format(value);

const columns: readonly Column<ToolRow>[] = [
  {
    ...{ name: 'Tool', cut: true, isMono: true, width: 236 },
    cell: ({ name, group }) =>
      group ? (
        <GroupName name={name} {...group} />
      ) : (
        <Link to="/tools/$name/activity" params={{ name }} title={name}>
          {name}
        </Link>
      ),
  },
  {
    ...{ name: 'Health', width: 172, card: 'state' },
    sort: { by: 'health', value: ({ report }) => healthRank(report) },
    cell: (row) => <Health {...row} />,
  },
  { ...{ name: 'Kind', width: 80, isOptional: true }, cell: ({ kind }) => <Tag>{kind}</Tag> },
  {
    ...{ name: 'Last hour', width: 116, isOptional: true },
    cell: ({ report }) =>
      report?.trend && (
        <span className={css.spark}>
          <Sparkline values={report.trend.calls} bad={report.trend.failures} />
        </span>
      ),
  },
  {
    ...{ name: 'Calls, 1 h', isNumber: true, sort: { by: 'calls', value: calls, isDescending: true } },
    cell: (row) => shown(calls(row), number),
  },
  {
    ...{ name: 'Failing', isNumber: true, sort: { by: 'failing', value: failing, isDescending: true } },
    cell: (row) =>
      shown(failing(row), percent) + (row.report && courseOf(row.report) === 'failing' ? ' now' : ''),
  },
  {
    ...{ name: 'Average', isNumber: true, sort: { by: 'latency', value: average, isDescending: true } },
    cell: (row) => shown(average(row), duration),
  },
  {
    ...{ name: 'Last used', width: 96, isOptional: true },
    sort: { by: 'used', value: ({ report }) => report?.lastUsed, isDescending: true },
    cell: ({ report }) => report?.lastUsed && <Time at={report.lastUsed} />,
  },
  {
    ...{ name: 'Description', cut: true, isOptional: true },
    cell: ({ description }) => <span title={description}>{description}</span>,
  },
];

/** Grade and since when, and why calls are refused. */
function Health({ report, unavailable, circuit }: ToolRow): ReactNode {
  const isRecovering = report && courseOf(report) === 'recovering';
  const since = isRecovering ? undefined : report && (report.now.failingSince ?? sinceOf(report));
  return (
    <>
      {report && !unavailable && <ReportState report={report} />}{' '}
      {since && !unavailable && circuit === 'closed' && (
        <Muted>
          <Since at={since} />
        </Muted>
      )}
      <ToolState unavailable={unavailable} circuit={circuit} />{' '}
      {report && <FindingsLink tool={report.toolName} findings={report.findings} />}
    </>
  );
}

/** Opens or closes a group of tools; an MCP server is also a page. */
function GroupName({ name, count, isOpen, toggle, isServer }: GroupNameProps): ReactNode {
  return (
    <>
      <button
        type="button"
        className={css.group}
        aria-expanded={isOpen}
        aria-label={isServer ? `Tools of ${name}` : name}
        onClick={toggle}
      >
        {isOpen ? '▾' : '▸'} {!isServer && name}
      </button>{' '}
      {isServer && (
        <Link to="/tools/$name/tools" params={{ name }}>
          {name}
        </Link>
      )}{' '}
      <Muted>{number(count)}</Muted>
    </>
  );
}

const filters: readonly Filter[] = [
  { key: 'grade', label: 'Health', options: grades, names: { unknown: stateName('unknown') } },
  {
    key: 'circuit',
    label: 'Circuit',
    options: ['open', 'half_open', 'closed'],
    names: { half_open: 'half-open' },
  },
  { key: 'kind', label: 'Kind', options: ['builtin', 'custom', 'mcp', 'ui', 'server'] },
  {
    key: 'status',
    label: 'Status',
    options: ['active', 'held', 'disabled', 'error'],
    names: unavailableNames,
  },
];

/** Tools that nothing sorts or filters, but for the project, stand in groups. */
const hasGroups = (search: Wanted): boolean =>
  Object.entries(search).every(([key, value]) => ['project', 'open'].includes(key) || value === undefined);

/** Groups name the kind. The last use is known of all projects alone. */
const columnsOf = (isGrouped: boolean, project: string | undefined): Column<ToolRow>[] =>
  columns.filter(
    ({ name }) => (!isGrouped || name !== 'Kind') && (project === undefined || name !== 'Last used'),
  );

export function ToolsPage(): ReactNode {
  const search = route.useSearch();
  const mayRegister = usePermission('tools:admin');
  const navigate = route.useNavigate();
  const tools = useQuery(toolsQuery);
  const { data: custom = [] } = useQuery(customToolsQuery);
  const { data: health } = useQuery(healthQuery);
  const change = useChange<Wanted>();
  const { open = '' } = search;
  const isGrouped = hasGroups(search);
  const shownColumns = columnsOf(isGrouped, useProject());
  const toggle = (name: string): void => {
    const names = new Set(open.split(',').filter(Boolean));
    if (!names.delete(name)) names.add(name);
    change({ open: [...names].join(',') || undefined });
  };
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
              const found = wantedRows(toolRows(data, custom, health), search);
              const rows = isGrouped ? grouped(found, open.split(','), toggle) : found;
              return rows.length === 0 ? (
                <Empty title={data.length === 0 ? 'No tools registered' : 'No tools match these filters'} />
              ) : (
                <Table
                  label="Tools"
                  rows={rows}
                  columns={shownColumns}
                  keyOf={keyOf}
                  sort={{ by: search.sort, change: (sort) => change({ sort }) }}
                  onOpen={({ name, group }) =>
                    group ? group.toggle() : void navigate({ to: '/tools/$name/activity', params: { name } })
                  }
                />
              );
            }}
          </Loaded>
        </Panel>
      </Stack>
    </Page>
  );
}

/** A tool as its line in the list: what it is, and how it did in the last hour. */
interface ToolRow extends ListedTool {
  /** Absent for an MCP server: each of its tools has its own. */
  readonly report: ToolReportView | undefined;
  readonly circuit: CircuitStateView['state'];
  /** The group that the row stands for, in place of a tool. */
  readonly group?: Omit<GroupNameProps, 'name'>;
}

interface GroupNameProps {
  readonly name: string;
  readonly count: number;
  readonly isOpen: boolean;
  readonly isServer: boolean;
  readonly toggle: () => void;
}

const standingOf = ({ circuit, ...row }: ToolRow): Standing => ({ ...row, isRefusing: circuit !== 'closed' });

/** In the order of Overview, then used tools. */
const byNow = (a: ToolRow, b: ToolRow): number =>
  byUrgency(standingOf(a), standingOf(b)) ||
  Number(calls(a) === null) - Number(calls(b) === null) ||
  a.name.localeCompare(b.name);

type Wanted = ReturnType<typeof toolsSearch>;

const ownGroups = { builtin: 'Built-in tools', ui: 'Tools of pages' } as const;

/** The group of a tool; one's own tools have none. */
const groupOf = ({ kind, name }: ToolRow): string | undefined => {
  if (kind === 'custom') return undefined;
  return kind === 'mcp' ? serverOf(name) : kind === 'server' ? name : ownGroups[kind];
};

/** Tools that need attention, one's own tools, then the tools of each MCP server and the built-in ones as groups. */
function grouped(
  rows: readonly ToolRow[],
  open: readonly string[],
  toggle: (name: string) => void,
): ToolRow[] {
  const isAlone = (row: ToolRow): boolean =>
    groupOf(row) === undefined || (needsAttention(standingOf(row)) && row.kind !== 'server');
  const others = rows.filter((row) => !isAlone(row));
  const heads = [...Map.groupBy(others, (row) => groupOf(row) ?? '')].map(([name, members]) => {
    const server = members.find(({ kind }) => kind === 'server');
    const tools = members.filter((row) => row !== server);
    const count = rows.filter((row) => groupOf(row) === name && row.kind !== 'server').length;
    const group = { count, isOpen: open.includes(name), toggle: () => toggle(name) };
    const none = { name, description: '', kind: 'builtin', report: undefined, circuit: 'closed' } as const;
    return [
      { ...(server ?? none), group: { ...group, isServer: server !== undefined } },
      ...(group.isOpen ? tools : []),
    ];
  });
  const place = ([head]: readonly ToolRow[]): number => (head?.group?.isServer ? 0 : 1);
  return [...rows.filter(isAlone), ...heads.sort((a, b) => place(a) - place(b)).flat()];
}

function toolRows(
  tools: readonly ToolView[],
  custom: readonly CustomToolView[],
  health: SystemHealthView | undefined,
): ToolRow[] {
  const { toolReports = [], circuits = [] } = health ?? {};
  const byName = new Map(toolReports.map((report) => [report.toolName, report]));
  return allTools(tools, custom).map(({ name, description, kind, unavailable }) => ({
    ...{ name, description, kind, unavailable },
    report: kind === 'server' ? undefined : byName.get(name),
    circuit: circuits.find(({ tool }) => tool === name)?.state ?? 'closed',
  }));
}

function wantedRows(rows: readonly ToolRow[], { q = '', kind, grade, circuit, status }: Wanted): ToolRow[] {
  const words = q.toLowerCase().split(/\s+/);
  return rows
    .filter(
      (row) =>
        words.every((word) => `${row.name} ${row.description}`.toLowerCase().includes(word)) &&
        (kind === undefined || row.kind === kind) &&
        (grade === undefined || row.report?.status === grade) &&
        (circuit === undefined || row.circuit === circuit) &&
        (status === undefined || (row.unavailable?.state ?? 'active') === status),
    )
    .sort(byNow);
}
