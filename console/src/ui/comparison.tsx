import type { ReactNode } from 'react';
import type { OutcomeView } from '../lib/api.js';
import { duration } from '../lib/format.js';
import { jsonChanges } from '../lib/changes.js';
import { ChangesTable } from './changes-table.js';
import css from './run-result.module.css';
import { Badge } from './controls.js';
import { Note } from './layout.js';
import { Empty } from './states.js';
import { Table } from './table.js';

/** An earlier run. */
interface Earlier {
  readonly status: string;
  readonly executionTimeMs: number;
  readonly error: string | null | undefined;
  readonly result: unknown;
  /** False if its result was not stored. */
  readonly isKnown: boolean;
}

export const earlierOf = ({ status, executionTimeMs, error, result }: OutcomeView): Earlier => ({
  ...{ status, executionTimeMs, result, error: error?.message, isKnown: true },
});

interface ComparisonProps {
  readonly before: Earlier;
  readonly now: OutcomeView;
}

/** Compares two runs: status, duration and results. */
export function Comparison({ before, now }: ComparisonProps): ReactNode {
  const changes = before.isKnown ? jsonChanges(before.result, now.result) : [];
  const fasterMs = before.executionTimeMs - now.executionTimeMs;
  return (
    <>
      <div className={css.inset}>
        <Note tone={now.status === 'success' ? 'good' : 'warn'}>
          {before.status === now.status
            ? `Same status as before: ${now.status}`
            : `Status changed from ${before.status} to ${now.status}`}
          , {duration(Math.abs(fasterMs))} {fasterMs < 0 ? 'slower' : 'faster'}.
        </Note>
      </div>
      <Table
        label="Before and now"
        rows={[
          { when: 'Before', ...before },
          { when: 'Now', ...earlierOf(now) },
        ]}
        keyOf={({ when }) => when}
        columns={[
          { name: 'Run', width: 80, cell: ({ when }) => when },
          { name: 'Status', width: 100, cell: ({ status }) => <Badge state={status} /> },
          { name: 'Duration', isNumber: true, cell: ({ executionTimeMs }) => duration(executionTimeMs) },
          { name: 'Error', cut: true, cell: ({ error }) => error },
        ]}
      />
      {!before.isKnown && <Empty title="The first result was not captured" />}
      {before.isKnown && changes.length === 0 && <Empty title="The results are the same" />}
      {changes.length > 0 && <ChangesTable label="Differences of the results" changes={changes} now="Now" />}
    </>
  );
}
