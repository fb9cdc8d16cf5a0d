import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import { asApiError, type CustomToolView, type FieldProblemView } from '../../lib/api.js';
import { Button } from '../../ui/controls.js';
import { Card, Row, Stack } from '../../ui/layout.js';
import { Empty, Loading, Problem } from '../../ui/states.js';
import css from './register.module.css';
import type { Attempt, TrialCall } from './trial.js';
import { TrialResult } from './trial-result.js';
import { useTrial } from './use-trial.js';

interface WorkbenchProps {
  readonly title: string;
  /** The text can be sent as it is. */
  readonly isReady: boolean;
  readonly attempt: (call?: TrialCall) => Attempt | Promise<Attempt>;
  readonly save: () => Promise<CustomToolView>;
  readonly saveName: string;
  readonly onSaved: (tool: CustomToolView) => void;
  /** Beside the buttons. */
  readonly options?: ReactNode;
  readonly children: (problems: readonly FieldProblemView[]) => ReactNode;
}

/** A tool's definition beside its trial: it is tried before it is saved. */
export function Workbench(props: WorkbenchProps): ReactNode {
  const { title, isReady, attempt, save, saveName, onSaved, options, children } = props;
  const permitted = useAct('tools:admin');
  const { trial, log, run } = useTrial(attempt);
  const saving = useMutation({ mutationFn: save, onSuccess: onSaved });
  const problem = saving.error ? asApiError(saving.error) : trial.failure;
  if (!permitted) return <Empty title="Your key may not register or change tools" />;
  return (
    <div className={css.editor}>
      <Card title={title}>
        <Stack>
          {children(problem?.fields ?? [])}
          {problem && <Problem problem={problem} />}
          <Row>
            <Button onClick={() => permitted(() => trial.start())} disabled={!isReady || trial.isPending}>
              Try
            </Button>
            {trial.isPending && <Button onClick={trial.cancel}>Cancel</Button>}
            <Button
              look="primary"
              onClick={() => permitted(() => saving.mutate())}
              disabled={!isReady || saving.isPending}
            >
              {saveName}
            </Button>
            {options}
          </Row>
        </Stack>
      </Card>
      <div aria-live="polite">
        {trial.isPending && log.length === 0 && <Loading lines={4} />}
        {trial.isIdle && <NotTried />}
        {!trial.isIdle && <TrialResult trial={trial.data} log={log} run={run} />}
      </div>
    </div>
  );
}

const NotTried = (): ReactNode => (
  <Empty title="Nothing was tried yet">
    <p>
      A trial starts the program in its sandbox, asks it who it is and what it takes, and shows what it
      writes. Nothing is kept.
    </p>
  </Empty>
);
