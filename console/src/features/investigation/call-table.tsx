import type { ReactNode } from 'react';
import type { ExecutionView } from '../../lib/api.js';
import { duration } from '../../lib/format.js';
import { columnsOf, executionKey } from '../../ui/execution-table.js';
import { type Column, Table } from '../../ui/table.js';

/** Calls in the order in which they began, with how long after the first. */
export function CallTable({ calls }: { readonly calls: readonly ExecutionView[] }): ReactNode {
  const start = Date.parse(calls[0]?.recordedAt ?? '');
  const after: Column<ExecutionView> = {
    ...{ name: 'After', isNumber: true, width: 84 },
    cell: ({ recordedAt }) => `+${duration(Date.parse(recordedAt) - start)}`,
  };
  const columns = columnsOf(calls, ['caller']).toSpliced(1, 0, after);
  return <Table label="Calls in order" rows={calls} columns={columns} keyOf={executionKey} />;
}
