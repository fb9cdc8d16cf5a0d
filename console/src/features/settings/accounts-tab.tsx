import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActButton } from '../../app/act-button.js';
import { NeedsScope } from '../../app/needs-scope.js';
import { type AccountView, ask, endAccount, listAccounts } from '../../lib/api.js';
import { consolePath, serverUrl } from '../../lib/server-url.js';
import { useSession } from '../../lib/session.js';
import { Badge, Tags } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Muted, Note, Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { useDone } from '../../ui/toasts.js';

const route = getRouteApi('/shell/settings/accounts');

/** Lists the accounts at MCP servers by which the caller's calls are served. Requires the scope `tools:call`. */
export const AccountsTab = (): ReactNode => (
  <NeedsScope
    scope="tools:call"
    title="Accounts require the scope tools:call"
    why="Some MCP servers are called with an account of each caller. Sign in to see yours."
  >
    <Accounts />
  </NeedsScope>
);

const columns: readonly Column<AccountView>[] = [
  { name: 'MCP server', isMono: true, cell: ({ server }) => server },
  {
    name: 'Status',
    width: 140,
    card: 'state',
    cell: ({ status }) =>
      status === null ? (
        <Muted>no account</Muted>
      ) : (
        <Badge state={status} tone={status === 'active' ? 'good' : 'warn'} />
      ),
  },
  {
    name: 'Scopes',
    cell: ({ scope }) => (scope ? <Tags words={scope.split(' ')} /> : <Muted>not told</Muted>),
  },
  {
    name: 'Since',
    width: 110,
    cell: ({ createdAt }) => (createdAt === null ? '' : <Time at={createdAt} />),
  },
  { name: 'Sign-in', width: 150, cell: (account) => <Way account={account} /> },
];

/** The sign-in, or the end of the account. */
function Way({ account: { server, status, signInUrl } }: { readonly account: AccountView }): ReactNode {
  if (status !== 'active' && signInUrl !== null)
    return (
      <a href={signInUrl} target="_blank" rel="noreferrer">
        {status === null ? 'Sign in' : 'Sign in again'}
      </a>
    );
  return (
    <ActButton small look="danger" scope="tools:call" name="End">
      {(close) => <EndDialog server={server} onClose={close} />}
    </ActButton>
  );
}

interface EndProps {
  readonly server: string;
  readonly onClose: () => void;
}

function EndDialog({ server, onClose }: EndProps): ReactNode {
  const done = useDone('accounts');
  return (
    <FormDialog
      title={`End your account at ${server}?`}
      about="Its tokens are deleted and its sessions end, on all replicas. Your calls of this server’s tools, and those of your agents, are refused until you sign in again. The account at the other side stays, and so does the consent that you gave there."
      name="End account"
      look="danger"
      send={(options) => endAccount({ path: { server }, ...options })}
      onDone={() => done('Account ended', server)}
      onClose={onClose}
    />
  );
}

/** A sign-in at a server that began with a link, and waits for a session of its person. */
function Waiting({ link }: { readonly link: string }): ReactNode {
  const { anonymous } = useSession();
  const query = new URLSearchParams({ link }).toString();
  return (
    <Note>
      A sign-in at an MCP server waits for you.{' '}
      {anonymous ? (
        <Link to="/sign-in" search={{ to: `${consolePath}/settings/accounts?${query}` }}>
          Sign in to Toolkeeper first
        </Link>
      ) : (
        <a href={`${serverUrl}/accounts/sign-in?${query}`}>Go on</a>
      )}
    </Note>
  );
}

function Accounts(): ReactNode {
  const { name, userId } = useSession();
  const { link } = route.useSearch();
  const accounts = useQuery({
    queryKey: ['accounts'],
    queryFn: async ({ signal }) => (await ask(listAccounts({ signal }))).data,
    refetchInterval: 10_000,
  });
  return (
    <Stack>
      {link !== undefined && <Waiting link={link} />}
      <Panel>
        <Loaded query={accounts}>
          {(rows) =>
            rows.length > 0 ? (
              <Table label="Accounts" rows={rows} columns={columns} keyOf={({ server }) => server} />
            ) : (
              <Empty title="No MCP server wants an account of its callers">
                <p>A server registered with credentials: user is called with each caller’s own account.</p>
              </Empty>
            )
          }
        </Loaded>
      </Panel>
      <Muted>
        These are the accounts of {name ?? userId}. Each API key and each person has accounts of its own.
      </Muted>
    </Stack>
  );
}
