import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask, type AuditEntryView, listAuditEntries } from '../lib/api.js';
import { words } from '../lib/format.js';
import { Card } from './layout.js';
import { Loaded } from './states.js';
import { type Column, Table } from './table.js';
import { Time } from './time.js';

/** Time, caller, action and reason of audit entries. */
export const auditColumns: readonly Column<AuditEntryView>[] = [
  { name: 'When', width: 84, card: 'state', cell: ({ at }) => <Time at={at} /> },
  {
    name: 'Who',
    cut: true,
    width: 84,
    cell: ({ userId, keyName }) => (
      <span title={keyName === null ? undefined : `${userId}, key ${keyName}`}>{userId}</span>
    ),
  },
  {
    ...{ name: 'What', card: 'title' },
    cell: ({ action, status, error }) => (
      <span title={error ?? undefined}>
        {words(action) + (status >= 400 ? `: refused: ${error ?? ''}` : '')}
      </span>
    ),
  },
  { name: 'Reason', cell: ({ reason }) => reason },
];

/** Audited actions on one thing; renders nothing if there were none. Needs the scope `audit:read`. */
export function Acts({ target }: { readonly target: string }): ReactNode {
  const acts = useQuery({
    queryKey: ['audit', target],
    queryFn: async ({ signal }) =>
      (await ask(listAuditEntries({ query: { target, limit: 50 }, signal }))).data,
  });
  if (acts.data?.length === 0) return null;
  return (
    <Card title="Manual changes" flush>
      <Loaded query={acts} lines={2}>
        {(entries) => (
          <Table label="Manual changes" rows={entries} columns={auditColumns} keyOf={({ id }) => id} />
        )}
      </Loaded>
    </Card>
  );
}
