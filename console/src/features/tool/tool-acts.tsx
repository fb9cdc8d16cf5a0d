import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Sending } from '../../lib/act.js';
import {
  type ask,
  type CircuitView,
  closeCircuit,
  type CustomToolView,
  disableCustomTool,
  enableCustomTool,
  openCircuit,
  removeCustomTool,
  resetCircuit,
} from '../../lib/api.js';
import { useSession } from '../../lib/session.js';
import { asCommand } from '../../lib/snippets.js';
import { type ToolActId, toolActs } from '../../lib/tool-acts.js';
import { useChange } from '../../lib/use-change.js';
import { Button } from '../../ui/controls.js';
import { FormDialog, inHistory as reason } from '../../ui/form-dialog.js';
import { Row } from '../../ui/layout.js';
import { Menu } from '../../ui/menu.js';
import { useDone } from '../../ui/toasts.js';

const route = getRouteApi('/shell/tools/$name');

interface ToolAct {
  readonly send: (tool: string, options: Sending, reason: string) => Parameters<typeof ask<unknown>>[0];
  readonly done: string;
  readonly about: string;
  /** The place where its reason can be read later; absent: it needs none. */
  readonly reason?: string;
  readonly command?: string;
}

/** Requests and texts of the acts: those on a circuit ask for a reason. */
const acts: Readonly<Record<ToolActId, ToolAct>> = {
  'open-circuit': {
    ...{ done: 'Circuit opened', reason },
    send: (tool, options, why) => openCircuit({ path: { tool }, body: { reason: why }, ...options }),
    about:
      'All calls of this tool are refused until the circuit is closed or reset by hand, also across restarts.',
  },
  'close-circuit': {
    ...{ done: 'Circuit closed', reason },
    send: (tool, options, why) => closeCircuit({ path: { tool }, body: { reason: why }, ...options }),
    about:
      'Calls pass again, and the faults of the window are cleared. If it opens again soon, it stays open longer.',
  },
  'reset-circuit': {
    ...{ done: 'Circuit reset', reason },
    send: (tool, options, why) => resetCircuit({ path: { tool }, body: { reason: why }, ...options }),
    about: 'Calls pass again, and earlier openings no longer count.',
  },
  enable: {
    ...{ done: 'Enabled', command: 'tool enable' },
    send: (name, options) => enableCustomTool({ path: { name }, ...options }),
    about: 'Agents can call it again.',
  },
  disable: {
    ...{ done: 'Disabled', command: 'tool disable' },
    send: (name, options) => disableCustomTool({ path: { name }, ...options }),
    about: 'Its processes end and agents cannot call it until it is enabled again.',
  },
  remove: {
    ...{ done: 'Removed', command: 'tool unregister' },
    send: (name, options) => removeCustomTool({ path: { name }, ...options }),
    about: 'Its processes end and agents can no longer call it. Its executions and revisions stay on record.',
  },
};

/** The acts that this caller may start, as buttons or in a menu: each asks in a dialog of the tool's screen. */
interface OfferedProps {
  readonly ids: readonly ToolActId[];
  readonly inMenu?: true;
  /** The act that the state of the tool calls for. */
  readonly primary?: ToolActId | undefined;
}

function Offered({ ids, inMenu, primary }: OfferedProps): ReactNode {
  const permitted = useAct('tools:admin');
  const change = useChange<{ act?: ToolActId }>();
  if (!permitted) return null;
  const start = (act: ToolActId) => (): void => permitted(() => change({ act }));
  if (inMenu)
    return (
      <Menu items={ids.map((id) => ({ ...toolActs[id], name: toolActs[id].title, onClick: start(id) }))} />
    );
  return (
    <Row>
      {ids.map((id) => (
        <Button key={id} small {...(id === primary && { look: 'primary' })} onClick={start(id)}>
          {toolActs[id].title}
        </Button>
      ))}
    </Row>
  );
}

/** A menu of what can be done with a registered tool. */
export const ToolMenu = ({ status }: { readonly status: CustomToolView['status'] }): ReactNode => (
  <Offered inMenu ids={[status === 'inactive' ? 'enable' : 'disable', 'remove']} />
);

/** Cuts off a tool that fails while its circuit is closed. */
export const HoldOpen = (): ReactNode => <Offered ids={['open-circuit']} primary="open-circuit" />;

/** A circuit that opened by itself probes the tool; one that is held open by hand does not. */
export const CircuitControls = ({
  state,
  heldByHand,
}: Pick<CircuitView, 'state' | 'heldByHand'>): ReactNode => (
  <Offered
    primary={heldByHand ? 'close-circuit' : undefined}
    ids={[
      ...(heldByHand ? [] : (['open-circuit'] as const)),
      ...(state === 'closed' ? [] : (['close-circuit'] as const)),
      'reset-circuit',
    ]}
  />
);

/** Asks for the act that the address names. */
export function ToolActDialog(): ReactNode {
  const { act } = route.useSearch();
  const permitted = useAct('tools:admin');
  return act && permitted && <ActDialog key={act} act={act} />;
}

function ActDialog({ act }: { readonly act: ToolActId }): ReactNode {
  const { name: tool } = route.useParams();
  const close = useChange<{ act?: ToolActId | undefined }>();
  const navigate = useNavigate();
  const finish = useDone('tools', 'health');
  const { send, done, command, ...texts } = acts[act];
  const { title, isDanger } = toolActs[act];
  const { environment } = useSession();
  const subject = texts.reason === undefined ? tool : `of ${tool}`;
  const question = act === 'open-circuit' ? `Hold the circuit of ${tool} open?` : `${title} ${subject}?`;
  return (
    <FormDialog
      title={question}
      name={title}
      look={isDanger ? 'danger' : 'primary'}
      {...texts}
      send={(options, why) => send(tool, options, why)}
      command={command && asCommand(environment, command, tool)}
      onDone={() => {
        finish(done, tool);
        if (act === 'remove') void navigate({ to: '/tools' });
      }}
      stays={act === 'remove'}
      onClose={() => close({ act: undefined })}
    />
  );
}
