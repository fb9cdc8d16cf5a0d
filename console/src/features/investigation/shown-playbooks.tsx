import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ShownPlaybookView } from '../../lib/api.js';
import { number } from '../../lib/format.js';
import { Empty } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

const columns: readonly Column<ShownPlaybookView>[] = [
  {
    ...{ name: 'Playbook', cut: true, isMono: true },
    cell: ({ playbook_id: id, version }) => (
      <Link to="/playbooks/$id" params={{ id }} search={{ v: version }}>
        {id}
      </Link>
    ),
  },
  { name: 'Version', cell: ({ version }) => version },
  { name: 'Answers that held it', isNumber: true, width: 160, cell: ({ times }) => number(times) },
  { name: 'First', cell: ({ first_shown_at: at }) => <Time at={at} /> },
  { name: 'Last', cell: ({ last_shown_at: at }) => <Time at={at} /> },
];

/** The playbooks that an agent chose from: a choice that is not among them was not made from what it was shown. */
export function ShownPlaybooks({
  playbooks,
}: {
  readonly playbooks: readonly ShownPlaybookView[];
}): ReactNode {
  if (playbooks.length === 0) return <Empty title="It was shown none, or they are forgotten by now" />;
  return (
    <Table
      label="Playbooks it was shown"
      rows={playbooks}
      columns={columns}
      keyOf={({ playbook_id: id, version }) => `${id} ${version}`}
    />
  );
}
