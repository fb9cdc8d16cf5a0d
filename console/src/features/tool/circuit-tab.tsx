import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CircuitView } from '../../lib/api.js';
import { counted, duration, percent } from '../../lib/format.js';
import { circuitQuery, reportQuery } from '../../lib/queries.js';
import { Badge } from '../../ui/controls.js';
import { LastError } from '../../ui/grade-line.js';
import { Card, Facts, Muted, Note, Stack } from '../../ui/layout.js';
import { StateStrip } from '../../ui/state-strip.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Since, Time } from '../../ui/time.js';
import { CircuitControls } from './tool-acts.js';

const route = getRouteApi('/shell/tools/$name/circuit');

/** Whether calls pass, why, what would change that, and what happened before. */
export function CircuitTab(): ReactNode {
  const { name } = route.useParams();
  const circuit = useQuery(circuitQuery(name));
  return <Loaded query={circuit}>{(data) => <Circuit circuit={data} />}</Loaded>;
}

const meaning = {
  closed: 'Calls pass.',
  open: 'Calls are refused at once, so that callers do not wait for a failing tool.',
  half_open: 'A few calls try the tool, each on a fresh process; the others are refused.',
} as const;

function Circuit({ circuit }: { readonly circuit: CircuitView }): ReactNode {
  const { tool, state, since, openSince, reason, by, nextProbeAt, heldByHand, opensAt, history } = circuit;
  const { data: report } = useQuery(reportQuery(tool));
  const error = state === 'closed' ? null : report?.now.lastError;
  return (
    <Stack>
      <Card title="State" actions={<CircuitControls {...circuit} />}>
        <Stack>
          <Facts
            facts={[
              ['State', <Badge key="state" state={state} />],
              ['Meaning', meaning[state]],
              ['Error of the tool', error && <LastError key="error" of={error} />],
              ['First opened', openSince && <Time key="first" at={openSince} />],
              ['In this state', <Since key="since" at={since} />],
              ['Why', reason],
              ['By', by],
              ['Next probe', nextProbeAt === null ? null : <Time key="probe" at={nextProbeAt} />],
              [
                'Held by hand',
                heldByHand ? 'yes: until it is closed or reset by hand, also across restarts' : null,
              ],
              [
                'In the window',
                `${counted(circuit.faultsInWindow, 'tool fault')} in ${counted(circuit.callsInWindow, 'call')}`,
              ],
              [
                'Opens at',
                `${counted(opensAt.faults, 'tool fault')} within ${duration(opensAt.windowMs)} that are ${percent(opensAt.minFailureRate)} of the calls or more`,
              ],
            ]}
          />
          <StateStrip
            label="States of the circuit"
            kinds={['closed', 'half_open', 'open']}
            changes={history.map((change) => ({ ...change, why: whyOf(change) }))}
          />
        </Stack>
      </Card>
      <WhatHappened circuit={circuit} />
    </Stack>
  );
}

/** A circuit that is half-open keeps the reason that opened it; what changed is that its time was over. */
const whyOf = ({ to, reason }: CircuitView['history'][number]): string =>
  to === 'half_open' ? 'The open time has passed: a few calls try the tool' : reason;

const WhatHappened = ({
  circuit: { history, historyComplete },
}: {
  readonly circuit: CircuitView;
}): ReactNode => (
  <Card title="What happened" flush actions={<Muted>newest first</Muted>}>
    {!historyComplete && (
      <Note tone="warn">
        The database does not answer: these are the changes that this server has seen itself.
      </Note>
    )}
    {history.length === 0 ? (
      <Empty title="It was always closed" />
    ) : (
      <Table
        label="Changes of the circuit"
        rows={[...history].reverse()}
        keyOf={({ at, to }) => `${at} ${to}`}
        columns={[
          { name: 'When', width: 92, cell: ({ at }) => <Time at={at} /> },
          { name: 'From', width: 110, cell: ({ from }) => <Badge state={from} /> },
          { name: 'To', width: 110, cell: ({ to }) => <Badge state={to} /> },
          { name: 'Why', cell: whyOf },
          { name: 'By', width: 140, cell: ({ by: who }) => who ?? 'itself' },
        ]}
      />
    )}
  </Card>
);
