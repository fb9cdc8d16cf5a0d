import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ReplicaView } from '../../lib/api.js';
import { counted, duration } from '../../lib/format.js';
import { replicasQuery } from '../../lib/queries.js';
import { useSession } from '../../lib/session.js';
import { tierName } from '../../lib/tiers.js';
import { Badge, Tag } from '../../ui/controls.js';
import { Muted, Note, Page, Panel, Row, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Since, Time } from '../../ui/time.js';

const columns: readonly Column<ReplicaView>[] = [
  {
    ...{ name: 'Replica', isMono: true, width: 250 },
    cell: ({ id, host, self }) => (
      <Row>
        <span title={id}>{host}</span>
        {self && <Tag>answers you</Tag>}
      </Row>
    ),
  },
  { name: 'Health', width: 110, card: 'state', cell: health },
  { name: 'Issues', cell: issues },
  { name: 'Waiting records', width: 170, cell: ({ journal }) => waiting(journal) },
  {
    ...{ name: 'Sandbox', width: 130 },
    cell: ({ tier }) => (tier === null ? <Muted>no custom tools</Muted> : `${tierName(tier)} (tier ${tier})`),
  },
  { name: 'Version', width: 90, isMono: true, cell: ({ version }) => version },
  { name: 'Address', width: 200, isMono: true, cut: true, cell: ({ address }) => address },
  { name: 'Running', width: 120, cell: ({ startedAt }) => <Since at={startedAt} /> },
  { name: 'Last seen', width: 90, cell: ({ seenAt }) => <Time at={seenAt} /> },
];

function health({ troubles }: ReplicaView): ReactNode {
  if (troubles.length === 0) return <Badge state="healthy" tone="good" />;
  const isDown = troubles.some(({ status }) => status === 'down');
  return <Badge state={isDown ? 'down' : 'degraded'} tone={isDown ? 'bad' : 'warn'} />;
}

function issues({ troubles }: ReplicaView): ReactNode {
  if (troubles.length === 0) return <Muted>none</Muted>;
  return (
    <Stack tight>
      {troubles.map(({ part, message }) => (
        <span key={part}>
          <strong>{part}</strong>
          {message !== null && `: ${message}`}
        </span>
      ))}
    </Stack>
  );
}

const waiting = ({ depth, oldestMs }: ReplicaView['journal']): ReactNode =>
  depth === 0 ? <Muted>none</Muted> : `${counted(depth, 'record')}, oldest ${duration(oldestMs)}`;

/** The replicas that serve on this database, each as of its last heartbeat. */
export function FleetPage(): ReactNode {
  const replicas = useQuery(replicasQuery);
  return (
    <Page name="Fleet">
      <Panel>
        <Loaded query={replicas}>{(all) => <Replicas all={all} />}</Loaded>
      </Panel>
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
      <Table label="Replicas" rows={all} columns={columns} keyOf={({ id }) => id} />
      {isEmbedded && (
        <Note>
          With the embedded database there is one replica. To run several, set <code>DATABASE_URL</code>.
        </Note>
      )}
    </Stack>
  );
}
