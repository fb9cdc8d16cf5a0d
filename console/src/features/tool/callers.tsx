import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { CallersView } from '../../lib/api.js';
import { number, timeSpan } from '../../lib/format.js';
import { callersQuery } from '../../lib/queries.js';
import { boundsOf, lastDayOf, type TimeRange } from '../../lib/time-range.js';
import { Card } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';

const callers = { caller: 'Callers', project: 'Projects' } as const;
const names = { ...callers, investigation: 'Investigations', revision: 'Revisions' } as const;
type By = keyof typeof names;

/** Callers whose calls failed or were refused, most failures first. */
export function Callers({ tool, range }: { readonly tool: string; readonly range: TimeRange }): ReactNode {
  const [by, setBy] = useState<By>('caller');
  // The others are counted from single executions: of one day at most.
  const shown = by in callers ? range : lastDayOf(range);
  const counts = useQuery(callersQuery(tool, shown, by));
  const { start } = boundsOf(range);
  // Callers and projects are counted in whole hours.
  const wholeHours = `, whole hours since ${timeSpan(start - (start % 3_600_000))}`;
  const about = by in callers ? wholeHours : shown === range ? '' : ', last 24 hours';
  return (
    <Card
      title={`Affected ${names[by].toLowerCase()}${about}`}
      flush
      actions={<Modes label="Count by" names={names} value={by} onChange={setBy} />}
    >
      <Loaded query={counts} lines={3}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No calls in this period" />
          ) : (
            <Table
              label="Affected callers"
              rows={data}
              keyOf={({ name, project }) => JSON.stringify([name, project])}
              columns={[
                { name: names[by].slice(0, -1), cut: true, cell: (row) => nameOf(tool, by, row) },
                { name: 'Calls', isNumber: true, width: 100, cell: ({ calls }) => number(calls) },
                { name: 'Failures', isNumber: true, width: 100, cell: ({ failures }) => number(failures) },
                {
                  name: 'Refused',
                  isNumber: true,
                  width: 100,
                  cell: (row) => (row.refusals === null ? '–' : number(row.refusals)),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

/** A caller or an investigation with executions leads to them; refused calls have none. */
function nameOf(tool: string, by: By, { name, project, calls }: CallersView): ReactNode {
  const shown = (name ?? 'none') + (project === null ? '' : ` (${project})`);
  if (name === null || calls === 0 || by === 'project' || by === 'revision') return shown;
  const search = by === 'caller' ? { user: name } : { investigation: name, project: project ?? undefined };
  return (
    <Link to="/executions" search={{ tool, ...search }}>
      {shown}
    </Link>
  );
}
