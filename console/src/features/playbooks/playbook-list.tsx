import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, listPlaybooks, type ListedPlaybookView } from '../../lib/api.js';
import { number, percent } from '../../lib/format.js';
import { byCursor } from '../../lib/pages.js';
import { Badge } from '../../ui/controls.js';
import { Muted, Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

const pageSize = 100;

const columns: readonly Column<ListedPlaybookView>[] = [
  {
    name: 'Playbook',
    cut: true,
    cell: ({ playbook_id: id, name }) => (
      <Link to="/playbooks/$id" params={{ id }} title={name}>
        {name}
      </Link>
    ),
  },
  { name: 'Id', cut: true, isMono: true, cell: ({ playbook_id }) => playbook_id },
  { name: 'Status', width: 110, cell: ({ status }) => <Badge state={status} /> },
  {
    name: 'Version',
    width: 110,
    cell: ({ version, total_versions: total }) => (
      <>
        {version} {total > 1 && <Muted>of {number(total)}</Muted>}
      </>
    ),
  },
  {
    ...{ name: 'Remedied', isNumber: true, width: 120 },
    cell: ({ actual_success_rate: rate, total_executions: total }) =>
      rate === null ? '–' : `${percent(rate)} of ${number(total)}`,
  },
  { name: 'Changed', width: 100, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

/** The latest version of every playbook, with any status. */
export function PlaybookList(): ReactNode {
  const navigate = useNavigate();
  const list = useInfiniteQuery({
    queryKey: ['playbooks', 'list'],
    queryFn: ({ pageParam, signal }) =>
      ask(listPlaybooks({ query: { limit: pageSize, cursor: pageParam }, signal })),
    ...byCursor,
  });
  return (
    <Loaded query={list} lines={12}>
      {({ pages }) => {
        const rows = pages.flatMap(({ data }) => data);
        if (rows.length === 0) return <NoPlaybooks />;
        return (
          <Stack>
            <Panel>
              <Table
                label="Playbooks"
                rows={rows}
                columns={columns}
                keyOf={({ playbook_id }) => playbook_id}
                onOpen={({ playbook_id: id }) => void navigate({ to: '/playbooks/$id', params: { id } })}
              />
            </Panel>
            <More list={list} name="Show more" />
          </Stack>
        );
      }}
    </Loaded>
  );
}

const NoPlaybooks = (): ReactNode => (
  <Empty title="There is no playbook yet">
    <p>
      A playbook says when it fits and what is to be done. Agents find it with the tool{' '}
      <code>get_playbooks</code>, by what an incident shows.
    </p>
    <Link to="/playbooks/new">Write the first</Link>
  </Empty>
);
