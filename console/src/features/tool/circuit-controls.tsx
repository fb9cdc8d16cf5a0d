import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Sending } from '../../lib/act.js';
import { ask, type CircuitView, closeCircuit, openCircuit, resetCircuit } from '../../lib/api.js';
import { circuitQuery } from '../../lib/queries.js';
import { Button } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Row } from '../../ui/layout.js';
import { ReasonField } from '../../ui/reason-field.js';
import { useDone } from '../../ui/toasts.js';

const acts = {
  open: {
    ask: openCircuit,
    name: 'Open circuit',
    done: 'Circuit opened',
    about:
      'All calls of this tool are refused until the circuit is closed or reset by hand, also across restarts.',
  },
  close: {
    ask: closeCircuit,
    name: 'Close circuit',
    done: 'Circuit closed',
    about:
      'Calls pass again, and the faults of the window are forgotten. Should it open again soon, it stays open longer.',
  },
  reset: {
    ask: resetCircuit,
    name: 'Reset circuit',
    done: 'Circuit reset',
    about: 'As new: calls pass, and earlier openings are forgotten.',
  },
} as const;
type Act = keyof typeof acts;

interface CircuitControlsProps {
  readonly tool: string;
  readonly state: CircuitView['state'];
}

/** Hands on the circuit: each asks why, and the answer stands in its history. */
export function CircuitControls({ tool, state }: CircuitControlsProps): ReactNode {
  const [act, setAct] = useState<Act>();
  const permitted = useAct('tools:admin');
  if (!permitted) return null;
  const offered: readonly Act[] = state === 'closed' ? ['open', 'reset'] : ['close', 'reset'];
  return (
    <Row>
      {offered.map((each) => (
        <Button key={each} small onClick={() => permitted(() => setAct(each))}>
          {acts[each].name}
        </Button>
      ))}
      {act && <OverrideDialog tool={tool} act={act} onClose={() => setAct(undefined)} />}
    </Row>
  );
}

interface OverrideDialogProps {
  readonly tool: string;
  readonly act: Act;
  readonly onClose: () => void;
}

function OverrideDialog({ tool, act, onClose }: OverrideDialogProps): ReactNode {
  const [reason, setReason] = useState('');
  const client = useQueryClient();
  const done = useDone('health');
  const { name, about, ask: override } = acts[act];
  const send = (options: Sending = {}) =>
    override({ path: { tool }, body: { reason: reason.trim() }, ...options });
  const change = useMutation({
    mutationFn: () => ask<CircuitView>(send()),
    onSuccess: (circuit) => {
      client.setQueryData(circuitQuery(tool).queryKey, circuit);
      done(acts[act].done, tool);
      onClose();
    },
  });
  return (
    <FormDialog
      title={`${name} of ${tool}?`}
      about={about}
      name={name}
      look={act === 'open' ? 'danger' : 'primary'}
      isReady={reason.trim() !== ''}
      {...{ change, send }}
      onClose={onClose}
    >
      <ReasonField value={reason} onText={setReason} help="It stands in the history, with your name." />
    </FormDialog>
  );
}
