import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { NeedsScope } from '../../app/needs-scope.js';
import type { KeyView } from '../../lib/api.js';
import { counted, number } from '../../lib/format.js';
import { keysQuery } from '../../lib/queries.js';
import type { keysSearch } from '../../lib/searches.js';
import { useSession } from '../../lib/session.js';
import { useChange } from '../../lib/use-change.js';
import { Badge, Button, Tags } from '../../ui/controls.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Muted, Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { KeyPeek } from './key-peek.js';
import { MakeKey } from './make-key.js';

const route = getRouteApi('/shell/settings/keys');

type Search = ReturnType<typeof keysSearch>;

/** Lists API keys and creates new ones. Requires the scope `admin`. */
export function KeysTab(): ReactNode {
  const { userId, scopes, anonymous } = useSession();
  return (
    <NeedsScope
      scope="admin"
      title="API keys require the scope admin"
      why={
        anonymous || scopes.includes('admin')
          ? 'Sign in with an API key before you create others, for example with the operator’s key.'
          : `You are signed in as ${userId}, with an API key that lacks this scope.`
      }
    >
      <Keys />
    </NeedsScope>
  );
}

/** Number of columns that fit beside the details of a key. */
const besidePeek = 3;

const columns: readonly Column<KeyView>[] = [
  {
    name: 'Name',
    cut: true,
    cell: ({ id, name }) => (
      <Link from="/settings/keys" to="." search={(old) => ({ ...old, key: id })}>
        {name}
      </Link>
    ),
  },
  { name: 'Status', width: 92, card: 'state', cell: ({ status }) => <Badge state={status} /> },
  { name: 'Scopes', cell: ({ scopes }) => <Tags words={scopes} /> },
  { name: 'Limits', cell: (key) => limitsText(key) || <Muted>none</Muted> },
  {
    name: 'Expires',
    width: 96,
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />),
  },
  {
    name: 'Last used',
    width: 96,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  },
];

/** A summary such as "100 calls a minute, 2 tools". The details list the names. */
const limitsText = ({ tools, projects, rate }: KeyView): string =>
  [
    rate && `${number(rate.calls)} calls a ${rate.per}`,
    tools && counted(tools.length, 'tool'),
    projects && counted(projects.length, 'project'),
  ]
    .filter(Boolean)
    .join(', ');

const keyOf = ({ id }: KeyView): string => id;

const filters: readonly Filter[] = [
  { key: 'status', label: 'Status', options: ['active', 'expired', 'revoked'] },
];

const isWanted =
  ({ q, status }: Search) =>
  (key: KeyView): boolean =>
    (status === undefined || key.status === status) &&
    (q === undefined || `${key.name} ${key.owner} ${key.id}`.toLowerCase().includes(q.toLowerCase()));

function Keys(): ReactNode {
  const search = route.useSearch();
  const keys = useQuery({ ...keysQuery, refetchInterval: 10_000 });
  const change = useChange<Search>();
  const rows = keys.data?.filter(isWanted(search)) ?? [];
  const looked = keys.data?.find(({ id }) => id === search.key);
  const select = (key?: string): void => change({ key });
  return (
    <Stack>
      <FilterBar
        label="Keys"
        search={search}
        text={{ key: 'q', label: 'Search keys', placeholder: 'Name, owner or id' }}
        filters={filters}
      >
        <Button look="primary" onClick={() => change({ make: true })}>
          Make a key
        </Button>
      </FilterBar>
      <Panel>
        <Loaded query={keys}>
          {(all) => <KeyTable all={all} rows={rows} selected={search.key} onSelect={select} />}
        </Loaded>
      </Panel>
      {looked && <KeyPeek key={looked.id} apiKey={looked} onClose={() => select(undefined)} />}
      <Muted>The operator’s own key (ADMIN_API_KEY, or admin.key in the data directory) is not listed.</Muted>
      {search.make && <MakeKey onClose={() => change({ make: undefined })} />}
    </Stack>
  );
}

interface KeyTableProps {
  readonly all: readonly KeyView[];
  readonly rows: readonly KeyView[];
  readonly selected: string | undefined;
  readonly onSelect: (id?: string) => void;
}

function KeyTable({ all, rows, selected, onSelect }: KeyTableProps): ReactNode {
  if (all.length === 0) {
    return (
      <Empty title="No API keys yet">
        <p>Create one for each agent, pipeline or dashboard, with only the scopes that it needs.</p>
      </Empty>
    );
  }
  if (rows.length === 0) return <Empty title="No API keys match these filters" />;
  return (
    <Table
      label="Keys"
      rows={rows}
      columns={selected === undefined ? columns : columns.slice(0, besidePeek)}
      keyOf={keyOf}
      peek={{ selected, select: onSelect }}
    />
  );
}
