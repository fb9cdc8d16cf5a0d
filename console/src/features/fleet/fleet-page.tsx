import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ReplicaView } from '../../lib/api.js';
import { counted, duration } from '../../lib/format.js';
import { replicasQuery } from '../../lib/queries.js';
import { useSession } from '../../lib/session.js';
import { tierName } from '../../lib/tiers.js';
import { Badge, Tag } from '../../ui/controls.js';
import { Muted, Note, Page, Panel, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Since, Time } from '../../ui/time.js';

const columns: readonly Column<ReplicaView>[] = [
  {
    ...{ name: 'Replica', isMono: true, width: 210 },
    cell: ({ id, name, address, self }) => (
      <span title={id}>
        {name} {self && <Tag>answers you</Tag>}
        <br />
        <Muted>{address}</Muted>
      </span>
    ),
  },
  { name: 'Health', width: 100, card: 'state', cell: health },
  { name: 'Issues', cell: (replica) => issues(replica) },
  { name: 'Journal lag', width: 130, cell: ({ journal }) => lag(journal) },
  { name: 'Sandbox', width: 150, cell: ({ tier }) => tier !== null && `tier ${tier}, ${tierName(tier)}` },
  { name: 'Version', width: 80, isMono: true, cell: ({ version }) => version },
  { name: 'Running', width: 110, cell: ({ startedAt }) => <Since at={startedAt} /> },
  { name: 'Last seen', width: 90, cell: ({ seenAt }) => <Time at={seenAt} /> },
];

function health({ troubles, silentSince }: ReplicaView): ReactNode {
  if (silentSince !== null) return <Badge state="silent" tone="bad" />;
  if (troubles.length === 0) return <Badge state="healthy" tone="good" />;
  const isDown = troubles.some(({ status }) => status === 'down');
  return <Badge state={isDown ? 'down' : 'degraded'} tone={isDown ? 'bad' : 'warn'} />;
}

const issues = ({ troubles, silentSince }: ReplicaView): ReactNode =>
  (troubles.length > 0 || silentSince !== null) && (
    <Stack tight>
      {silentSince !== null && (
        <span>
          <strong>silent</strong> since <Time at={silentSince} />: it may still serve calls, but it does not
          see changes
        </span>
      )}
      {troubles.map(({ part, message }) => (
        <span key={part}>
          <strong>{part}</strong>
          {message !== null && `: ${message}`}
        </span>
      ))}
    </Stack>
  );

const lag = ({ depth, oldestMs }: ReplicaView['journal']): string =>
  `${counted(depth, 'record')}${depth > 0 ? `, ${duration(oldestMs)}` : ''}`;

/** The replicas that serve on this database, each as of its last heartbeat. */
export function FleetPage(): ReactNode {
  const replicas = useQuery(replicasQuery);
  return (
    <Page name="Fleet">
      <Loaded query={replicas} within={(state) => <Panel>{state}</Panel>}>
        {(all) => <Replicas all={all} />}
      </Loaded>
    </Page>
  );
}

function Replicas({ all }: { readonly all: readonly ReplicaView[] }): ReactNode {
  const isEmbedded = useSession().environment?.database === 'embedded';
  const versions = [...new Set(all.map(({ version }) => version))];
  return (
    <Stack>
      {versions.length > 1 && (
        <Note tone="warn">Replicas run different versions: {versions.join(', ')}. Finish the upgrade.</Note>
      )}
      <Panel>
        <Table label="Replicas" rows={all} columns={columns} keyOf={({ id }) => id} />
      </Panel>
      {isEmbedded && (
        <Muted>
          With the embedded database there is one replica. To run several, set DATABASE_URL on each of them.
        </Muted>
      )}
    </Stack>
  );
}
