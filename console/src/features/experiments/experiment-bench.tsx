import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Bench, RunButton } from '../../ui/bench.js';
import { Button, buttonLook } from '../../ui/controls.js';
import { Muted, Note, Workspace } from '../../ui/layout.js';
import { Loading } from '../../ui/states.js';
import { useExperimentTools } from './experiment-tools.js';
import css from './experiments.module.css';
import { NoModel } from './no-model.js';
import { RequestEditor } from './request-editor.js';
import { Runs } from './runs.js';
import { type ExperimentProps, useExperiment } from './use-experiment.js';

/** The request that runs next, beside the runs until now. */
export function ExperimentBench({
  actions,
  ...props
}: ExperimentProps & { readonly actions?: ReactNode }): ReactNode {
  const { start, experiment, search } = props;
  const editor = useExperiment(props);
  useExperimentTools(props, editor);
  const isPending = editor.running;
  // A failure is reported by a toast.
  const run = { isPending, start: () => void editor.run().catch(() => undefined), cancel: editor.cancel };
  const { draft, nextName, change: onChange } = editor;
  const first = <RequestEditor {...{ draft, nextName, onChange }} />;
  const second = editor.isPending ? (
    <Loading />
  ) : (
    <>
      <div className={css.notes} aria-live="polite">
        {editor.canRun === false && <NoModel />}
        {isPending && <Loading lines={3} />}
        {experiment?.status === 'failed' && !isPending && <Note tone="bad">{experiment.error}</Note>}
      </div>
      <Runs
        {...{ runs: editor.runs, shown: experiment?.id, search }}
        original={editor.evaluation?.original ?? null}
      />
    </>
  );
  const bar = (
    <>
      <RunButton name="Run" look="primary" isReady={editor.obstacle === undefined} run={run} />
      {editor.isChanged && <Button onClick={editor.forget}>Discard changes</Button>}
      <Muted>Each run is stored.</Muted>
    </>
  );
  const { original_span_id: span, original_trace_id: trace } = start;
  const toCall = span !== null && trace !== null && (
    <Link to="/traces/$id" params={{ id: trace }} search={{ span }} className={buttonLook()}>
      The model call
    </Link>
  );
  return (
    <Workspace
      name={start.name}
      actions={
        <>
          {toCall}
          {actions}
        </>
      }
    >
      <Bench name="experiment" onRun={run.start} {...{ first, second, bar }} />
    </Workspace>
  );
}
