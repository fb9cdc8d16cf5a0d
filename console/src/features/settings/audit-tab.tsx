import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { NeedsScope } from '../../app/needs-scope.js';
import { ask, type AuditEntryView, listAuditEntries } from '../../lib/api.js';
import { exactTime, words } from '../../lib/format.js';
import { byCursor } from '../../lib/pages.js';
import type { auditSearch } from '../../lib/searches.js';
import { sinceMoment } from '../../lib/time-range.js';
import { useChange } from '../../lib/use-change.js';
import { auditColumns } from '../../ui/acts.js';
import { ChangesTable } from '../../ui/changes-table.js';
import { CsvLink } from '../../ui/csv-link.js';
import { FilterBar } from '../../ui/filters.js';
import { Facts, type Pairs, Panel, Stack } from '../../ui/layout.js';
import { Peek } from '../../ui/peek.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

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
const changed: Column<AuditEntryView> = {
  name: 'Changed',
  cut: true,
  cell: ({ changes }) => changes.map(({ path }) => path).join(', '),
};
const when: Column<AuditEntryView> = {
  ...{ name: 'When', width: 92, card: 'state' },
  cell: ({ id, at }) => (
    <Link from="/settings/audit" to="." search={(old) => ({ ...old, entry: id })}>
      <Time at={at} />
    </Link>
  ),
};
const columns = [when, ...auditColumns.slice(1).toSpliced(2, 0, target, changed), address];
/** Columns that fit beside the details of an entry. */
const besidePeek = columns.filter((column) => ![changed, address].includes(column));

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
  const { entry: id, ...search } = route.useSearch();
  const change = useChange<Search>();
  const list = useAudit(search);
  const all = entriesOf(useAudit({}));
  const rows = entriesOf(list);
  const looked = rows.find((entry) => entry.id === id);
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
                <Table
                  {...{ label: 'Audit', rows }}
                  keyOf={(entry) => entry.id}
                  columns={looked ? besidePeek : columns}
                  peek={{ selected: id, select: (entry) => change({ entry }) }}
                />
                <More list={list} name="Load more" />
              </>
            )
          }
        </Loaded>
      </Panel>
      {looked && <EntryPeek entry={looked} onClose={() => change({ entry: undefined })} />}
    </Stack>
  );
}

interface EntryPeekProps {
  readonly entry: AuditEntryView;
  readonly onClose: () => void;
}

/** One entry beside the list: who did what and why, and the values before and after. */
const EntryPeek = ({ entry, onClose }: EntryPeekProps): ReactNode => (
  <Peek label="Entry" open={<h2>{words(entry.action)}</h2>} onClose={onClose}>
    <Stack>
      <Facts facts={factsOf(entry)} />
      <ChangesTable
        label="What it changed"
        isNarrow
        changes={entry.changes.map(({ path, ...values }) => ({ path: String(path), ...values }))}
      />
    </Stack>
  </Peek>
);

const factsOf = (entry: AuditEntryView): Pairs => [
  ['When', exactTime(entry.at)],
  ['Who', entry.userId],
  ['Key', entry.keyName ?? entry.keyId],
  ['Agent', entry.clientId],
  ['Address', entry.address],
  ['Reason', entry.reason],
  ['Refused', entry.status >= 400 && `${entry.status}: ${entry.error ?? ''}`],
  ['Target', <code key="target">{entry.target}</code>],
  ['Project', entry.project],
  ['Request', <code key="request">{entry.requestId}</code>],
];
