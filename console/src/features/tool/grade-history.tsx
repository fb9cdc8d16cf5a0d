import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { GradeChangeView } from '../../lib/api.js';
import { gradeChangesQuery } from '../../lib/queries.js';
import { Badge } from '../../ui/controls.js';
import { Card, Muted } from '../../ui/layout.js';
import { StateStrip } from '../../ui/state-strip.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import css from './grade-history.module.css';

interface GradeHistoryProps {
  readonly tool: string;
  /** Back from now. */
  readonly hours: number;
}

/** Changes of the grade over the period, with their reasons. */
export function GradeHistory({ tool, hours }: GradeHistoryProps): ReactNode {
  const changes = useQuery(gradeChangesQuery(tool));
  const start = Date.now() - hours * 3_600_000;
  return (
    <Card title="Grade history" flush actions={<Muted>graded every minute over the last hour</Muted>}>
      <Loaded query={changes} lines={3}>
        {(data) =>
          data.length === 0 ? (
            <Empty title="No changes" />
          ) : (
            <>
              <div className={css.strip}>
                <StateStrip
                  label="Grades"
                  kinds={['healthy', 'degraded', 'unhealthy', 'unknown']}
                  changes={[...data].reverse()}
                  start={start}
                />
              </div>
              <Changes changes={data.filter(({ at }) => Date.parse(at) >= start)} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

/** @param changes newest first */
const Changes = ({ changes }: { readonly changes: readonly GradeChangeView[] }): ReactNode =>
  changes.length > 0 && (
    <Table
      label="Changes of the grade"
      rows={changes}
      keyOf={({ at, to }) => `${at} ${to}`}
      columns={[
        { name: 'Time', width: 92, cell: ({ at }) => <Time at={at} /> },
        { name: 'From', width: 110, cell: ({ from }) => <Badge state={from} /> },
        { name: 'To', width: 110, cell: ({ to }) => <Badge state={to} /> },
        { name: 'Why', cell: ({ why }) => why },
      ]}
    />
  );
