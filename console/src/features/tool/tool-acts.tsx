import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import {
  type CircuitView,
  closeCircuit,
  type CustomToolView,
  disableCustomTool,
  enableCustomTool,
  openCircuit,
  removeCustomTool,
  resetCircuit,
} from '../../lib/api.js';
import { circuitQuery } from '../../lib/queries.js';
import { asCommand } from '../../lib/snippets.js';
import { type ToolActId, toolActs } from '../../lib/tool-acts.js';
import { useChange } from '../../lib/use-change.js';
import { Button } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Row } from '../../ui/layout.js';
import { Menu } from '../../ui/menu.js';
import { useDone } from '../../ui/toasts.js';

const route = getRouteApi('/shell/tools/$name');

/** Requests and texts of acts on a circuit; they ask for a reason. */
const circuitActs = {
  'open-circuit': {
    ask: openCircuit,
    done: 'Circuit opened',
    about:
      'All calls of this tool are refused until the circuit is closed or reset by hand, also across restarts.',
  },
  'close-circuit': {
    ask: closeCircuit,
    done: 'Circuit closed',
    about:
      'Calls pass again, and the faults of the window are forgotten. Should it open again soon, it stays open longer.',
  },
  'reset-circuit': {
    ask: resetCircuit,
    done: 'Circuit reset',
    about: 'As new: calls pass, and earlier openings are forgotten.',
  },
} as const;
type CircuitAct = keyof typeof circuitActs;
const isCircuitAct = (id: ToolActId): id is CircuitAct => id in circuitActs;

/** The same of acts on a registered tool. */
const registrationActs = {
  enable: {
    ask: enableCustomTool,
    done: 'Enabled',
    command: 'tool enable',
    about: 'Agents can call it again.',
  },
  disable: {
    ask: disableCustomTool,
    done: 'Disabled',
    command: 'tool disable',
    about: 'Its processes end and agents cannot call it until it is enabled again.',
  },
  remove: {
    ask: removeCustomTool,
    done: 'Removed',
    command: 'tool unregister',
    about: 'Its processes end and agents can no longer call it. Its executions and revisions stay on record.',
  },
} as const;

interface OfferedAct {
  readonly id: ToolActId;
  readonly title: string;
  readonly isDanger: boolean;
  readonly run: () => void;
}

/** @returns the acts that this caller may start: they ask in a dialog of the tool's screen */
function useActs(ids: readonly ToolActId[]): readonly OfferedAct[] {
  const permitted = useAct('tools:admin');
  const change = useChange<{ act?: ToolActId }>();
  if (!permitted) return [];
  return ids.map((id) => ({ id, ...toolActs[id], run: () => permitted(() => change({ act: id })) }));
}

/** A menu of what can be done with a registered tool. */
export function ToolMenu({ status }: { readonly status: CustomToolView['status'] }): ReactNode {
  const acts = useActs([status === 'inactive' ? 'enable' : 'disable', 'remove']);
  if (acts.length === 0) return null;
  return <Menu items={acts.map(({ title, isDanger, run }) => ({ name: title, isDanger, onClick: run }))} />;
}

export function CircuitControls({ state }: { readonly state: CircuitView['state'] }): ReactNode {
  const acts = useActs([state === 'closed' ? 'open-circuit' : 'close-circuit', 'reset-circuit']);
  if (acts.length === 0) return null;
  return (
    <Row>
      {acts.map(({ id, title, run }) => (
        <Button key={id} small onClick={run}>
          {title}
        </Button>
      ))}
    </Row>
  );
}

/** Asks for the act that the address names. */
export function ToolActDialog(): ReactNode {
  const { act } = route.useSearch();
  const { name: tool } = route.useParams();
  const change = useChange<{ act?: ToolActId | undefined }>();
  const permitted = useAct('tools:admin');
  if (!act || !permitted) return null;
  const dialog = { tool, onClose: () => change({ act: undefined }) };
  return isCircuitAct(act) ? (
    <CircuitDialog act={act} {...dialog} />
  ) : (
    <RegistrationDialog act={act} {...dialog} />
  );
}

interface DialogProps<Act extends ToolActId> {
  readonly tool: string;
  readonly act: Act;
  readonly onClose: () => void;
}

function CircuitDialog({ tool, act, onClose }: DialogProps<CircuitAct>): ReactNode {
  const client = useQueryClient();
  const finish = useDone('health');
  const { about, done, ask: override } = circuitActs[act];
  const { title, isDanger } = toolActs[act];
  return (
    <FormDialog<CircuitView>
      title={`${title} of ${tool}?`}
      name={title}
      look={isDanger ? 'danger' : 'primary'}
      reason="It stands in the history, with your name."
      send={(options, reason) => override({ path: { tool }, body: { reason }, ...options })}
      onDone={(circuit) => {
        client.setQueryData(circuitQuery(tool).queryKey, circuit);
        finish(done, tool);
      }}
      {...{ about, onClose }}
    />
  );
}

function RegistrationDialog({ tool, act, onClose }: DialogProps<keyof typeof registrationActs>): ReactNode {
  const navigate = useNavigate();
  const finish = useDone('tools');
  const { about, done, command, ask: request } = registrationActs[act];
  const { title, isDanger } = toolActs[act];
  return (
    <FormDialog<unknown>
      title={`${title} ${tool}?`}
      name={title}
      look={isDanger ? 'danger' : 'primary'}
      send={(options) => request({ path: { name: tool }, ...options })}
      onDone={() => {
        finish(done, tool);
        if (act === 'remove') void navigate({ to: '/tools' });
      }}
      stays={act === 'remove'}
      {...{ about, onClose }}
      command={asCommand(command, tool)}
    />
  );
}
