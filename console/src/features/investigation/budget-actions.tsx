import { type ReactNode, useState } from 'react';
import { ActButton } from '../../app/act-button.js';
import {
  type InvestigationBudgetView,
  type RaiseBudgetBody,
  raiseInvestigation,
  resetInvestigation,
} from '../../lib/api.js';
import { useProjects } from '../../lib/project.js';
import type { InvestigationProject } from '../../lib/queries.js';
import { TextField } from '../../ui/controls.js';
import { FormDialog, inAudit } from '../../ui/form-dialog.js';
import { Muted } from '../../ui/layout.js';
import { useDone } from '../../ui/toasts.js';

interface BudgetActionsProps {
  readonly id: string;
  readonly of: InvestigationProject;
  /** undefined: the server remembers none. */
  readonly budget: InvestigationBudgetView | undefined;
}

/** The project of the budget, in a sentence: callers without a key have budgets of their own. */
function useWhose({ project }: InvestigationProject): string {
  const { inProject } = useProjects();
  return project === '' ? ' for calls without a key' : inProject;
}

/** Acts on the budget, for callers who may. */
export function BudgetActions({ id, of, budget }: BudgetActionsProps): ReactNode {
  const whose = useWhose(of);
  const done = useDone('investigations', 'audit');
  return (
    <>
      <ActButton look="primary" scope="tools:admin" name="Set limits">
        {(onClose) => <RaiseDialog {...{ id, of, budget, onClose }} />}
      </ActButton>
      {budget && (
        <ActButton scope="tools:admin" name="Reset budget">
          {(onClose) => (
            <FormDialog
              title={`Reset the budget of ${id}${whose}?`}
              about="The counts of used calls and the limits set for this investigation are removed, and the default limits apply again. Executions stay recorded."
              name="Reset budget"
              look="danger"
              reason={inAudit}
              send={(options, reason) =>
                resetInvestigation({ path: { id }, query: { ...of, reason }, ...options })
              }
              onDone={() => done('Budget reset', id)}
              onClose={onClose}
            />
          )}
        </ActButton>
      )}
    </>
  );
}

/** Limits as typed, by tool; `*` applies to tools without a limit of their own. */
type Typed = Readonly<Record<string, string>>;
const everyTool = '*';

interface RaiseDialogProps extends BudgetActionsProps {
  readonly onClose: () => void;
}

function RaiseDialog({ id, of, budget, onClose }: RaiseDialogProps): ReactNode {
  const whose = useWhose(of);
  const [typed, setTyped] = useState<Typed>({});
  const done = useDone('investigations', 'audit');
  const changes = changesIn(typed);
  const field = (tool: string, label: string, now: number | undefined, used?: number): ReactNode => (
    <TextField
      key={tool}
      label={label}
      type="number"
      min={0}
      max={1_000_000}
      step={1}
      placeholder={now === undefined ? 'server default' : now === 0 ? 'no limit' : String(now)}
      help={used === undefined ? undefined : `${used} used`}
      value={typed[tool] ?? ''}
      onText={(text) => setTyped((old) => ({ ...old, [tool]: text }))}
    />
  );
  return (
    <FormDialog
      title={`Set the limits of ${id}${whose}`}
      name="Set limits"
      isReady={changes !== undefined}
      reason={inAudit}
      send={(options, reason) =>
        raiseInvestigation({ path: { id }, query: of, body: { ...changes, reason }, ...options })
      }
      onDone={() => done('Limits set', id)}
      onClose={onClose}
      about="Total calls, including those already made. 0 means no limit; an empty field changes nothing."
    >
      {budget?.tools.map(({ tool, limit, used }) => field(tool, `Calls of ${tool}`, limit, used))}
      {field(everyTool, 'Calls of each other tool without a limit of its own', budget?.callsPerTool)}
      {!budget && <Muted>The investigation starts with these limits.</Muted>}
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
