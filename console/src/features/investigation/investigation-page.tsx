import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type {
  ExecutionView,
  InvestigationBudgetView,
  ShownPlaybookView,
  ToolBudgetView,
} from '../../lib/api.js';
import { duration, number } from '../../lib/format.js';
import { useOwnProject } from '../../lib/project.js';
import {
  callsOfQuery,
  investigationQuery,
  investigationsQuery,
  shownPlaybooksQuery,
} from '../../lib/queries.js';
import { usePermission } from '../../lib/session.js';
import { Acts } from '../../ui/acts.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { columnsOf, executionKey } from '../../ui/execution-table.js';
import { Card, Muted, Page, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { BudgetActions } from './budget-actions.js';
import css from './budget-card.module.css';

const route = getRouteApi('/shell/investigations/$id');

/** More calls than a person reads in a row: the others are among the executions. */
const callsShown = 200;
/** An address of more would be too long. */
const maxTraces = 50;

/** One investigation: what it may still spend, what it called in which order, and what it was shown. */
export function InvestigationPage(): ReactNode {
  const { id } = route.useParams();
  const { keyless } = route.useSearch();
  const of = keyless === true ? { project: '' } : {};
  const mayCall = usePermission('tools:call') !== 'no';
  const one = useQuery({ ...investigationQuery(id, of), enabled: mayCall });
  const listed = useQuery({
    ...{ ...investigationsQuery, enabled: !mayCall },
    select: (all) => all.find(({ investigationId }) => investigationId === id) ?? null,
  });
  const budget = mayCall ? one : listed;
  useOwnProject(keyless === true ? undefined : budget.data?.project);
  const shown = useQuery({ ...shownPlaybooksQuery(id), enabled: mayCall });
  const calls = useQuery(callsOfQuery(id, callsShown));
  const traces = [...new Set(calls.data?.calls.flatMap(({ traceId }) => traceId ?? []))];
  const mayTrace = usePermission('traces:read') === 'yes';
  const maySeeActs = usePermission('audit:read') === 'yes';
  return (
    <Page
      name={`Investigation ${id}`}
      title={id}
      about="An investigation: its budget, the calls it made, and the playbooks it was shown."
      actions={
        <>
          <BudgetActions {...{ id, of }} budget={budget.data ?? undefined} />
          {mayTrace && traces.length > 0 && (
            <Link
              to="/traces"
              search={{ trace: traces.slice(-maxTraces).join(',') }}
              className={buttonLook()}
            >
              Traces
            </Link>
          )}
          <Link to="/executions" search={{ investigation: id }} className={buttonLook()}>
            Its executions
          </Link>
        </>
      }
    >
      <Stack>
        <Loaded query={budget} lines={3}>
          {(data) => <BudgetCard budget={data} />}
        </Loaded>
        <CallsCard query={calls} />
        {mayCall && (
          <Card title="Playbooks it was shown" flush>
            <Loaded query={shown} lines={2}>
              {(playbooks) => <ShownPlaybooks playbooks={playbooks} />}
            </Loaded>
          </Card>
        )}
        {maySeeActs && <Acts target={`investigations/${id}`} />}
      </Stack>
    </Page>
  );
}

interface Calls {
  readonly calls: readonly ExecutionView[];
  readonly hasMore: boolean;
}

function CallsCard({ query }: { readonly query: UseQueryResult<Calls> }): ReactNode {
  const { data } = query;
  const count = data && (data.hasMore ? `the newest ${callsShown} of more` : number(data.calls.length));
  return (
    <Card title="Calls in order" flush actions={<Muted>{count}</Muted>}>
      <Loaded query={query}>
        {({ calls }) =>
          calls.length === 0 ? (
            <Empty title="No call of this investigation is recorded" />
          ) : (
            <CallTable calls={calls} />
          )
        }
      </Loaded>
    </Card>
  );
}

/** Calls in the order in which they began, with how long after the first. */
function CallTable({ calls }: { readonly calls: readonly ExecutionView[] }): ReactNode {
  const start = Date.parse(calls[0]?.recordedAt ?? '');
  const after: Column<ExecutionView> = {
    ...{ name: 'After', isNumber: true, width: 84 },
    cell: ({ recordedAt }) => `+${duration(Date.parse(recordedAt) - start)}`,
  };
  const columns = columnsOf(calls, ['caller', 'project']).toSpliced(1, 0, after);
  return <Table label="Calls in order" rows={calls} columns={columns} keyOf={executionKey} />;
}

const shownColumns: readonly Column<ShownPlaybookView>[] = [
  {
    ...{ name: 'Playbook', cut: true, isMono: true },
    cell: ({ playbook_id: id, version }) => (
      <Link to="/playbooks/$id" params={{ id }} search={{ v: version }}>
        {id}
      </Link>
    ),
  },
  { name: 'Version', cell: ({ version }) => version },
  { name: 'Answers with it', isNumber: true, width: 160, cell: ({ times }) => number(times) },
  { name: 'First', cell: ({ first_shown_at: at }) => <Time at={at} /> },
  { name: 'Last', cell: ({ last_shown_at: at }) => <Time at={at} /> },
];

/** The playbooks that an agent chose from: a choice that is not among them was not made from what it was shown. */
function ShownPlaybooks({ playbooks }: { readonly playbooks: readonly ShownPlaybookView[] }): ReactNode {
  if (playbooks.length === 0) return <Empty title="No playbooks, or their record has expired" />;
  return (
    <Table
      label="Playbooks it was shown"
      rows={playbooks}
      columns={shownColumns}
      keyOf={({ playbook_id: id, version }) => `${id} ${version}`}
    />
  );
}

const columns: readonly Column<ToolBudgetView>[] = [
  {
    ...{ name: 'Tool', cut: true, isMono: true },
    cell: ({ tool }) => (
      <Link to="/tools/$name/activity" params={{ name: tool }}>
        {tool}
      </Link>
    ),
  },
  { name: 'Used', isNumber: true, cell: ({ used }) => number(used) },
  { name: 'Limit', isNumber: true, cell: ({ limit }) => (limit === 0 ? 'none' : number(limit)) },
  { name: 'Left', cell: (budget) => <Left budget={budget} /> },
];

/** A visual form of the number beside it, hidden from screen readers. */
function Left({ budget: { limit, used, remaining } }: { readonly budget: ToolBudgetView }): ReactNode {
  if (remaining === null) return <Muted>no limit</Muted>;
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  return (
    <span className={css.left}>
      <span className={css.bar} aria-hidden="true">
        <span data-spent={remaining === 0 ? '' : undefined} style={{ width: `${share * 100}%` }} />
      </span>
      {remaining === 0 ? <Badge state="spent" tone="bad" /> : `${number(remaining)} left`}
    </span>
  );
}

interface BudgetCardProps {
  /** null: the server does not remember the investigation. */
  readonly budget: InvestigationBudgetView | null;
}

function BudgetCard({ budget }: BudgetCardProps): ReactNode {
  if (!budget) {
    return (
      <Card title="Budget">
        <p>
          The whole budget is left: no call of this investigation was counted since the budget was last reset,
          by hand or by time.
        </p>
      </Card>
    );
  }
  const { callsPerTool, resetsAt, tools } = budget;
  return (
    <Card
      title="Budget"
      flush
      actions={
        <Muted>
          {callsPerTool === 0 ? 'no limit' : `${number(callsPerTool)} calls`} of each tool that has no limit
          of its own; resets <Time at={resetsAt} />
        </Muted>
      }
    >
      {tools.length === 0 ? (
        <Empty title="No calls yet" />
      ) : (
        <Table label="Budget by tool" rows={tools} columns={columns} keyOf={({ tool }) => tool} />
      )}
    </Card>
  );
}
