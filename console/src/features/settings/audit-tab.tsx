import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { NeedsScope } from '../../app/needs-scope.js';
import { ask, type AuditEntryView, listAuditEntries } from '../../lib/api.js';
import { words } from '../../lib/format.js';
import { byCursor } from '../../lib/pages.js';
import type { auditSearch } from '../../lib/searches.js';
import { sinceMoment } from '../../lib/time-range.js';
import { auditColumns } from '../../ui/acts.js';
import { CsvLink } from '../../ui/csv-link.js';
import { FilterBar } from '../../ui/filters.js';
import { Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';

const route = getRouteApi('/shell/settings/audit');

type Search = ReturnType<typeof auditSearch>;

/** The audit: every change, its author and its time. Requires the scope `audit:read`. */
export const AuditTab = (): ReactNode => (
  <NeedsScope
    scope="audit:read"
    title="The audit requires the scope audit:read"
    why="Sign in with an API key that has it, for example the operator’s key."
  >
    <Audit />
  </NeedsScope>
);

const target: Column<AuditEntryView> = {
  name: 'Target',
  cut: true,
  cell: ({ target: path, targetName }) => (
    <code title={path}>{targetName ? `${targetName} (${path})` : path}</code>
  ),
};
const address: Column<AuditEntryView> = { name: 'Address', cell: (entry) => entry.address };
const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
const changed: Column<AuditEntryView> = {
  name: 'Changed',
  cut: true,
  cell: ({ changes }) => {
    const lines = changes.map(({ path, before, after }) =>
      [path, before === after ? '' : `: ${shown(before)} → ${shown(after)}`].join(''),
    );
    return <span title={lines.join('\n')}>{lines.join(', ')}</span>;
  },
};
const columns = [...auditColumns.toSpliced(3, 0, target, changed), address];

const queryOf = ({ who: userId, what: action, since, ...rest }: Search) => ({
  ...{ userId, action, ...rest },
  since: sinceMoment(since),
});

function useAudit(search: Search) {
  return useInfiniteQuery({
    queryKey: ['audit', search],
    queryFn: ({ pageParam, signal }) =>
      ask(listAuditEntries({ query: { ...queryOf(search), cursor: pageParam }, signal })),
    ...byCursor,
  });
}

const entriesOf = ({ data }: ReturnType<typeof useAudit>): readonly AuditEntryView[] =>
  data?.pages.flatMap((page) => page.data) ?? [];

function Audit(): ReactNode {
  const search = route.useSearch();
  const list = useAudit(search);
  const all = entriesOf(useAudit({}));
  const rows = entriesOf(list);
  /** Values to choose from: those of the newest entries, and the chosen one. */
  const valuesOf = (chosen: string | undefined, of: (entry: AuditEntryView) => string): string[] =>
    [...new Set([...all.map(of), ...rows.map(of), ...(chosen === undefined ? [] : [chosen])])].sort();
  const actions = valuesOf(search.what, ({ action }) => action);
  return (
    <Stack>
      <FilterBar
        label="Audit"
        search={search}
        text={{ key: 'target', label: 'Target', placeholder: 'custom-tools/disk_usage' }}
        filters={[
          { key: 'who', label: 'Who', options: valuesOf(search.who, ({ userId }) => userId) },
          {
            ...{ key: 'what', label: 'Action', options: actions },
            names: Object.fromEntries(actions.map((action) => [action, words(action)])),
          },
        ]}
        range={search}
      >
        <CsvLink path="audit" query={queryOf(search)} />
      </FilterBar>
      <Panel>
        <Loaded query={list}>
          {() =>
            rows.length === 0 ? (
              <Empty title="No entries match these filters" />
            ) : (
              <>
                <Table label="Audit" rows={rows} columns={columns} keyOf={({ id }) => id} />
                <More list={list} name="Load more" />
              </>
            )
          }
        </Loaded>
      </Panel>
    </Stack>
  );
}
