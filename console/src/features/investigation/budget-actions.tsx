import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Sending } from '../../lib/act.js';
import {
  ask,
  type InvestigationBudgetView,
  type RaiseBudgetBody,
  raiseInvestigation,
  resetInvestigation,
} from '../../lib/api.js';
import { Button, TextField } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Muted } from '../../ui/layout.js';
import { inAudit, ReasonField } from '../../ui/reason-field.js';
import { useDone } from '../../ui/toasts.js';

interface BudgetActionsProps {
  readonly id: string;
  /** undefined: the server remembers none. */
  readonly budget: InvestigationBudgetView | undefined;
}

/** Hands on the budget, for who may. */
export function BudgetActions({ id, budget }: BudgetActionsProps): ReactNode {
  const [act, setAct] = useState<'raise' | 'reset'>();
  const permitted = useAct('tools:admin');
  if (!permitted) return null;
  const close = (): void => setAct(undefined);
  return (
    <>
      <Button look="primary" onClick={() => permitted(() => setAct('raise'))}>
        Set limits
      </Button>
      {budget && <Button onClick={() => permitted(() => setAct('reset'))}>Reset budget</Button>}
      {act === 'raise' && <RaiseDialog id={id} budget={budget} onClose={close} />}
      {act === 'reset' && <ResetDialog id={id} onClose={close} />}
    </>
  );
}

interface DialogProps extends BudgetActionsProps {
  readonly onClose: () => void;
}

function ResetDialog({ id, onClose }: Omit<DialogProps, 'budget'>): ReactNode {
  const done = useDone('investigations', 'audit');
  const [reason, setReason] = useState('');
  const send = (options: Sending = {}) => resetInvestigation({ path: { id }, query: { reason }, ...options });
  const reset = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: () => {
      done('Budget reset', id);
      onClose();
    },
  });
  return (
    <FormDialog
      title="Reset the budget?"
      name="Reset budget"
      look="danger"
      isReady={reason.trim() !== ''}
      change={reset}
      send={send}
      onClose={onClose}
      about="What it spent is forgotten, and so are limits that were set by hand: it begins anew with those of every investigation. What it called stays recorded."
    >
      <ReasonField value={reason} onText={setReason} help={inAudit} />
    </FormDialog>
  );
}

/** Limits as typed, by tool; `*` applies to tools without a limit of their own. */
type Typed = Readonly<Record<string, string>>;
const everyTool = '*';

function RaiseDialog({ id, budget, onClose }: DialogProps): ReactNode {
  const [typed, setTyped] = useState<Typed>({});
  const [reason, setReason] = useState('');
  const done = useDone('investigations', 'audit');
  const changes = changesIn(typed);
  const send = (options: Sending = {}) =>
    raiseInvestigation({ path: { id }, body: { ...changes, reason }, ...options });
  const raise = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: () => {
      done('Limits set', id);
      onClose();
    },
  });
  const field = (tool: string, label: string, now: number | undefined, used?: number): ReactNode => (
    <TextField
      key={tool}
      label={label}
      type="number"
      min={0}
      max={1_000_000}
      step={1}
      placeholder={now === undefined ? 'as the server has it' : now === 0 ? 'no limit' : String(now)}
      help={used === undefined ? undefined : `${used} used`}
      value={typed[tool] ?? ''}
      onText={(text) => setTyped((old) => ({ ...old, [tool]: text }))}
    />
  );
  return (
    <FormDialog
      title="Set the limits of this investigation"
      name="Set limits"
      isReady={changes !== undefined && reason.trim() !== ''}
      change={raise}
      send={send}
      onClose={onClose}
      about="Calls in all, those that were made included. 0 means no limit; an empty field stays as it is."
    >
      {budget?.tools.map(({ tool, limit, used }) => field(tool, `Calls of ${tool}`, limit, used))}
      {field(everyTool, 'Calls of each other tool without a limit of its own', budget?.callsPerTool)}
      {!budget && <Muted>It begins with these limits.</Muted>}
      <ReasonField value={reason} onText={setReason} help={inAudit} />
    </FormDialog>
  );
}

/** @returns undefined if nothing was typed */
function changesIn(typed: Typed): RaiseBudgetBody | undefined {
  const given = Object.entries(typed).filter(([, text]) => text.trim() !== '');
  if (given.length === 0) return undefined;
  const limits = given.map(([tool, text]) => [tool, Number(text)] as const);
  const tools = Object.fromEntries(limits.filter(([tool]) => tool !== everyTool));
  const other = limits.find(([tool]) => tool === everyTool);
  return {
    ...(Object.keys(tools).length > 0 && { tools }),
    ...(other && { callsPerTool: other[1] }),
  };
}
