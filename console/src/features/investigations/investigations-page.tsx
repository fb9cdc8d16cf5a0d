import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { InvestigationBudgetView, ToolBudgetView } from '../../lib/api.js';
import { number } from '../../lib/format.js';
import { useProjects } from '../../lib/project.js';
import { investigationsQuery } from '../../lib/queries.js';
import type { investigationsSearch } from '../../lib/searches.js';
import { isInRange } from '../../lib/time-range.js';
import { useChange } from '../../lib/use-change.js';
import { Badge } from '../../ui/controls.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Muted, Page, Panel, Stack } from '../../ui/layout.js';
import { EmptyList } from '../../ui/empty-list.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

const route = getRouteApi('/shell/investigations');

type Search = ReturnType<typeof investigationsSearch>;
type Investigation = InvestigationBudgetView;

const keyOf = ({ project, investigationId: id }: Investigation): string => JSON.stringify([id, project]);

/** The page of an investigation: the same id in another project is another one. */
const pageOf = ({ investigationId: id, project }: Investigation) =>
  ({
    to: '/investigations/$id',
    params: { id },
    search: project === null ? { project: undefined, keyless: true as const } : { project },
  }) as const;

const projectColumn: Column<Investigation> = {
  ...{ name: 'Project', cut: true, width: 124, sort: { by: 'project', value: ({ project }) => project } },
  cell: ({ project }) => project ?? <Muted>without a key</Muted>,
};
const columns: readonly Column<Investigation>[] = [
  {
    ...{
      name: 'Investigation',
      cut: true,
      isMono: true,
      sort: { by: 'id', value: ({ investigationId }) => investigationId },
    },
    cell: (investigation) => <Link {...pageOf(investigation)}>{investigation.investigationId}</Link>,
  },
  { name: 'Budget', width: 150, card: 'state', cell: budgetBadge },
  {
    ...{ name: 'Calls', isNumber: true },
    sort: { by: 'calls', value: (investigation) => sumsOf(investigation).calls, isDescending: true },
    cell: (investigation) => number(sumsOf(investigation).calls),
  },
  {
    ...{ name: 'Tools', isNumber: true },
    sort: { by: 'tools', value: ({ tools }) => tools.length, isDescending: true },
    cell: ({ tools }) => number(tools.length),
  },
  { name: 'Lowest remaining', cell: leastLeft },
  {
    ...{ name: 'Last call', width: 96 },
    sort: { by: 'last', value: ({ lastCallAt }) => lastCallAt, isDescending: true },
    cell: ({ lastCallAt }) => lastCallAt && <Time at={lastCallAt} />,
  },
  {
    ...{ name: 'Resets', width: 110, sort: { by: 'resets', value: ({ resetsAt }) => resetsAt } },
    cell: ({ resetsAt }) => <Time at={resetsAt} />,
  },
];

function budgetBadge(investigation: Investigation): ReactNode {
  const { spent, nearest } = sumsOf(investigation);
  if (!nearest) return <Badge state="no limit" tone="none" />;
  if (spent.length === 0) return <Badge state="within" tone="good" />;
  return <Badge state={spent.length === 1 ? 'spent' : `spent for ${spent.length} tools`} tone="bad" />;
}

function leastLeft(investigation: Investigation): ReactNode {
  const { nearest } = sumsOf(investigation);
  return nearest ? `${nearest.tool}: ${leftText(nearest)}` : <Muted>–</Muted>;
}

const filters: readonly Filter[] = [
  { key: 'spent', label: 'Budget', options: ['true'], names: { true: 'spent' } },
];

/** Investigations of agents, and the calls that each has left. */
export function InvestigationsPage(): ReactNode {
  const search = route.useSearch();
  const investigations = useQuery(investigationsQuery);
  return (
    <Page name="Investigations">
      <Stack>
        <FilterBar
          label="Investigations"
          byProject
          search={search}
          text={{ key: 'q', label: 'Search investigations' }}
          filters={filters}
          range={search}
        />
        <Panel>
          <Loaded query={investigations}>{(all) => <Investigations all={all} search={search} />}</Loaded>
        </Panel>
        <Muted>
          Investigations until their budgets reset, also those from before a restart. To find an older one,
          search for its id with Ctrl K.
        </Muted>
      </Stack>
    </Page>
  );
}

interface InvestigationsProps {
  readonly all: readonly Investigation[];
  readonly search: Search;
}

function Investigations({ all, search: { q, spent, sort, ...range } }: InvestigationsProps): ReactNode {
  const navigate = route.useNavigate();
  const change = useChange<Search>();
  const { isMixed } = useProjects();
  const rows = all.filter(
    (each) =>
      isInRange(range, each.lastCallAt) &&
      (q === undefined || each.investigationId.toLowerCase().includes(q.toLowerCase())) &&
      (spent !== true || sumsOf(each).spent.length > 0),
  );
  if (rows.length === 0) {
    const isFiltered = all.length > 0;
    const records = isFiltered && q !== undefined && (
      <p>
        <Link to="/find" search={{ id: q }}>
          Search all records for {q}
        </Link>
      </p>
    );
    return (
      <EmptyList of="investigations" isFiltered={isFiltered} hint={records}>
        <Empty title="No investigation has called a tool yet">
          <p>
            A call belongs to one when it names it: <code>x-investigation-id: inc-42</code> as a header, or{' '}
            <code>{'{"context": {"investigationId": "inc-42"}}'}</code> in the body.
          </p>
        </Empty>
      </EmptyList>
    );
  }
  return (
    <Table
      label="Investigations"
      rows={rows}
      columns={isMixed ? columns.toSpliced(1, 0, projectColumn) : columns}
      keyOf={keyOf}
      sort={{ by: sort, change: (by) => change({ sort: by }) }}
      onOpen={(investigation) => void navigate(pageOf(investigation))}
    />
  );
}

interface BudgetSums {
  readonly calls: number;
  /** Tools that this investigation may not call any more. */
  readonly spent: readonly string[];
  /** The tool that is nearest to its limit; undefined if none has one. */
  readonly nearest: ToolBudgetView | undefined;
}

function sumsOf({ tools }: InvestigationBudgetView): BudgetSums {
  const limited = tools.filter(({ remaining }) => remaining !== null);
  const [nearest] = limited.toSorted((a, b) => shareLeft(a) - shareLeft(b));
  return {
    calls: tools.reduce((sum, { used }) => sum + used, 0),
    spent: limited.filter(({ remaining }) => remaining === 0).map(({ tool }) => tool),
    nearest,
  };
}

const shareLeft = ({ limit, remaining }: ToolBudgetView): number => (remaining ?? limit) / limit;

/** "3 of 10 left", "all 10 spent"; for a tool with a limit. */
const leftText = ({ limit, remaining }: ToolBudgetView): string =>
  remaining === 0 ? `all ${limit} spent` : `${remaining} of ${limit} left`;
