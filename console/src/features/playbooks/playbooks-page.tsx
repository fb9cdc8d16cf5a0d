import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, type ListedPlaybookView, listPlaybooks } from '../../lib/api.js';
import { number, percent } from '../../lib/format.js';
import { situationOf } from '../../lib/label-text.js';
import { byCursor } from '../../lib/pages.js';
import type { playbooksSearch } from '../../lib/searches.js';
import { usePermission } from '../../lib/session.js';
import { useChange } from '../../lib/use-change.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { FilterBar, FilterText } from '../../ui/filters.js';
import { Muted, Note, Page, Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { SearchResult } from './search-result.js';

const route = getRouteApi('/shell/playbooks');

type Search = ReturnType<typeof playbooksSearch>;

/** All playbooks, or the answer that an agent would get to a query, with what kept every other playbook out. */
export function PlaybooksPage(): ReactNode {
  const search = route.useSearch();
  const mayWrite = usePermission('playbooks:write');
  const { wrong } = situationOf(search.labels ?? '');
  const change = useChange<Search>();
  return (
    <Page
      name="Playbooks"
      actions={
        mayWrite !== 'no' && (
          <Link to="/playbooks/new" className={buttonLook('primary')}>
            Write a playbook
          </Link>
        )
      }
    >
      <Stack>
        <FilterBar label="Search">
          <FilterText
            wide
            label="What the incident shows"
            placeholder="What the incident shows: pod OOMKilled, exit code 137"
            value={search.q}
            onChange={(q) => change({ q, was: undefined })}
          />
          <FilterText
            wide
            label="Labels of the situation"
            placeholder="Labels: environment=production"
            value={search.labels}
            onChange={(labels) => change({ labels, was: undefined })}
          />
          <FilterText
            isNumber
            label="Min confidence"
            value={search.threshold?.toString()}
            onChange={(text) =>
              change({ threshold: text === undefined ? undefined : Number(text), was: undefined })
            }
          />
        </FilterBar>
        {wrong !== undefined && (
          <Note tone="bad" alert>
            <code>{wrong}</code> is no label: write <code>environment=production, priority=P0</code>.
          </Note>
        )}
        {search.q === undefined && <PlaybookList />}
        {search.q !== undefined && wrong === undefined && <SearchResult search={search} change={change} />}
      </Stack>
    </Page>
  );
}

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
function PlaybookList(): ReactNode {
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
  <Empty title="No playbooks yet">
    <p>
      A playbook describes when it fits and what to do. Agents find it with the tool{' '}
      <code>get_playbooks</code>, by what an incident shows.
    </p>
    <Link to="/playbooks/new">Write the first</Link>
  </Empty>
);
