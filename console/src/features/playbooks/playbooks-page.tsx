import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { situationOf } from '../../lib/label-text.js';
import type { playbooksSearch } from '../../lib/searches.js';
import { usePermission } from '../../lib/session.js';
import { useChange } from '../../lib/use-change.js';
import { buttonLook } from '../../ui/controls.js';
import { FilterBar, FilterText } from '../../ui/filters.js';
import { Note, Page, Stack } from '../../ui/layout.js';
import { PlaybookList } from './playbook-list.js';
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
