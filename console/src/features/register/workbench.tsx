import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { flushSync } from 'react-dom';
import { useAct } from '../../app/sign-in-gate.js';
import { type ApiError, asApiError, type CustomToolView } from '../../lib/api.js';
import { Bench, RunButton } from '../../ui/bench.js';
import { Button } from '../../ui/controls.js';
import { FormDialog, inAudit } from '../../ui/form-dialog.js';
import { StartOver } from '../../ui/start-over.js';
import { Empty } from '../../ui/states.js';
import type { Attempt, DryRunCall } from './dry-run.js';
import { DryRunResult, type Said } from './dry-run-result.js';
import { type DryRun, useDryRun } from './use-dry-run.js';

interface WorkbenchProps {
  /** The text can be sent as it is. */
  readonly isReady: boolean;
  readonly attempt: (call?: DryRunCall) => Attempt | Promise<Attempt>;
  /** @param reason of a change */
  readonly save: (reason: string) => Promise<CustomToolView>;
  /** It changes a tool, and makes no new one. */
  readonly isKnown: boolean;
  /** The unsaved text. It is forgotten when it is saved. */
  readonly draft: { readonly isChanged: boolean; readonly forget: () => void };
  readonly onSaved: (tool: CustomToolView) => void;
  /** Puts what the executable says about itself into the draft; absent: the draft has no place for it. */
  readonly onTake?: ((said: Said) => void) | undefined;
  /** Beside the buttons. */
  readonly options?: ReactNode;
  /**
   * @param problem why it was refused when it was tried or saved
   * @param errorText what the program wrote before it failed, if it failed
   */
  readonly children: (problem: ApiError | undefined, errorText: string | undefined) => ReactNode;
}

/** A tool's definition beside its dry run: it is tried before it is saved. */
export function Workbench(props: WorkbenchProps): ReactNode {
  const { isReady, attempt, save, isKnown, draft, onSaved, onTake, options, children } = props;
  const permitted = useAct('tools:admin');
  const dryRun = useDryRun(attempt);
  const [isAsking, setAsking] = useState(false);
  const onSuccess = (tool: CustomToolView): void => {
    draft.forget();
    onSaved(tool);
  };
  const saving = useMutation({ mutationFn: save, onSuccess });
  if (!permitted) return <Empty title="Your key may not register or change tools" />;
  const run = {
    ...dryRun.run,
    start: () => {
      saving.reset();
      if (isReady) permitted(() => dryRun.run.start());
    },
  };
  const take = (said: Said): void => {
    // The dry run sends the draft as it is after this.
    flushSync(() => onTake?.(said));
    run.start();
  };
  const failure = saving.error ? asApiError(saving.error) : run.failure;
  return (
    <Bench
      name="register"
      onRun={run.start}
      first={children(failure, errorTextOf(dryRun))}
      second={<DryRunResult {...dryRun} failure={failure} onTake={onTake && take} />}
      bar={
        <>
          <RunButton name="Dry run" run={run} isReady={isReady} />
          <Button
            look="primary"
            onClick={() => permitted(() => (isKnown ? setAsking(true) : saving.mutate('')))}
            disabled={!isReady || saving.isPending}
          >
            {isKnown ? 'Save revision' : 'Save'}
          </Button>
          <StartOver draft={draft} />
          {options}
          {isAsking && (
            <FormDialog
              {...{ title: 'Save a new revision?', name: 'Save revision', reason: inAudit, copies: false }}
              send={async (_, reason) => ({
                data: await saving.mutateAsync(reason),
                response: Response.json(null),
              })}
              onDone={() => undefined}
              onFailed={() => setAsking(false)}
              onClose={() => setAsking(false)}
            />
          )}
        </>
      }
    />
  );
}

function errorTextOf({ run, call, log }: DryRun): string | undefined {
  const failure = run.failure?.message ?? call.failure?.message ?? call.now?.outcome.error?.message;
  const written = log.filter(({ event }) => event === 'stderr').map(({ message }) => message);
  return failure === undefined ? undefined : [failure, ...written].join('\n');
}
