import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { InvestigationBudgetView, ToolBudgetView } from '../../lib/api.js';
import { number } from '../../lib/format.js';
import { Badge } from '../../ui/controls.js';
import { Card, Muted } from '../../ui/layout.js';
import { Empty } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import css from './budget-card.module.css';

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
  if (remaining === null) return <Muted>as many as it likes</Muted>;
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

export function BudgetCard({ budget }: BudgetCardProps): ReactNode {
  if (!budget) {
    return (
      <Card title="Budget">
        <p>
          The whole budget is left: this replica counted no call of this investigation since it started or
          since the budget reset.
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
        <Empty title="Nothing of it is spent" />
      ) : (
        <Table label="Budget by tool" rows={tools} columns={columns} keyOf={({ tool }) => tool} />
      )}
    </Card>
  );
}
