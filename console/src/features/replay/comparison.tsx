import type { ReactNode } from 'react';
import type { ReplayView } from '../../lib/api.js';
import { duration } from '../../lib/format.js';
import { jsonChanges } from '../../lib/json-changes.js';
import { ChangesTable } from '../../ui/changes-table.js';
import { Badge } from '../../ui/controls.js';
import { Card, Note, Stack } from '../../ui/layout.js';
import { Outcome } from '../../ui/outcome.js';
import { Empty } from '../../ui/states.js';
import { Table } from '../../ui/table.js';

/** The first time beside the replay: how each ended, how long it took, and where their results differ. */
export function Comparison({
  replay: { outcome, original, payload },
}: {
  readonly replay: ReplayView;
}): ReactNode {
  const before = payload && 'result' in payload ? payload.result : undefined;
  const isKnown = before !== undefined || original.status !== 'success';
  const changes = isKnown ? jsonChanges(before, outcome.result) : [];
  const fasterMs = original.executionTimeMs - outcome.executionTimeMs;
  return (
    <Stack>
      <Card title="Before and after" flush>
        <Table
          label="Before and after"
          rows={[
            {
              when: 'Before',
              status: original.status,
              ms: original.executionTimeMs,
              why: original.errorMessage,
            },
            { when: 'Now', status: outcome.status, ms: outcome.executionTimeMs, why: outcome.error?.message },
          ]}
          keyOf={({ when }) => when}
          columns={[
            { name: 'Run', width: 80, cell: ({ when }) => when },
            { name: 'Ended', width: 100, cell: ({ status }) => <Badge state={status} /> },
            { name: 'Took', isNumber: true, cell: ({ ms }) => duration(ms) },
            { name: 'Why', cut: true, cell: ({ why }) => why },
          ]}
        />
      </Card>
      <Note tone={outcome.status === 'success' ? 'good' : 'warn'}>
        {original.status === outcome.status
          ? `It ended as before: ${outcome.status}`
          : `It ends in ${outcome.status} now`}
        , {duration(Math.abs(fasterMs))} {fasterMs < 0 ? 'slower' : 'faster'}.
      </Note>
      <Card title="What differs in the result" flush>
        {!isKnown && <Empty title="The first result was not captured" />}
        {isKnown && changes.length === 0 && <Empty title="Nothing" />}
        {changes.length > 0 && (
          <ChangesTable label="What differs in the result" changes={changes} now="Now" />
        )}
      </Card>
      <Outcome outcome={outcome} title="Result now" />
    </Stack>
  );
}
