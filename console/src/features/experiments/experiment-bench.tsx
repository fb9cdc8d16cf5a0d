import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { CallFiguresView, ExperimentView } from '../../lib/api.js';
import { useDraft } from '../../lib/drafts.js';
import { experimentsQuery } from '../../lib/experiment-queries.js';
import type { experimentSearch } from '../../lib/searches.js';
import { Bench, RunButton } from '../../ui/bench.js';
import { Button, buttonLook, TextField } from '../../ui/controls.js';
import { Muted, Note, Workspace } from '../../ui/layout.js';
import { Loading } from '../../ui/states.js';
import css from './experiments.module.css';
import { NoModel } from './no-model.js';
import { draftOf, type RequestDraft, settingsOf } from './request-draft.js';
import { RequestEditor } from './request-editor.js';
import { Runs } from './runs.js';
import { useRun } from './use-run.js';

type Members =
  | 'name'
  | 'headers'
  | 'prompt_variables'
  | 'model_parameters'
  | `original_${'span_id' | 'trace_id' | 'request'}`;

interface ExperimentBenchProps {
  /** Members of an experiment that may not be stored yet. */
  readonly start: Pick<ExperimentView, Members | 'modified_request'>;
  /** Absent: nothing has run yet. */
  readonly experiment?: ExperimentView;
  /** Null if the runs start from a request of their own. */
  readonly original: CallFiguresView | null;
  readonly actions?: ReactNode;
  readonly search: ReturnType<typeof experimentSearch>;
}

/** Runs beside each other; older ones are in the list. */
const maxShown = 12;

/** The runs that start from the same request, the newest first, with the given one. */
function useRelated({ start: { original_span_id: span }, experiment }: ExperimentBenchProps) {
  const { data: list } = useQuery(experimentsQuery(span ?? undefined));
  const others = list?.data.filter(({ id, original_span_id: its }) => its === span && id !== experiment?.id);
  const runs = [...(others ?? []).slice(0, maxShown), ...(experiment ? [experiment] : [])];
  return {
    runs: runs.toSorted((a, b) => b.created_at.localeCompare(a.created_at)),
    nextNumber: (list?.pagination.total ?? 0) + 1,
    canRun: list?.can_run,
  };
}

/** The request as it is written. Each run of a changed request is stored as a new experiment. */
function useEditor(props: ExperimentBenchProps, { nextNumber, canRun }: ReturnType<typeof useRelated>) {
  const { start: members, experiment, search } = props;
  const { original_span_id: span, original_trace_id: trace, original_request, headers } = members;
  const request = { ...members.modified_request, ...members.model_parameters };
  const initial = draftOf(request, members.prompt_variables);
  const key = `experiment ${experiment?.id ?? `of ${span ?? 'nothing'}`}`;
  const { text, setText, isChanged, forget } = useDraft(key, JSON.stringify({ name: '', ...initial }));
  const draft = JSON.parse(text) as RequestDraft & { readonly name: string };
  const navigate = useNavigate();
  const { start, cancel, isStarting } = useRun((id) => {
    forget();
    void navigate({
      to: '/experiments/$id',
      params: { id },
      search: { ...search, span: undefined, trace: undefined },
    });
  });
  const permitted = useAct('experiments:write');
  const settings = settingsOf(draft);
  const nextName = `Run ${nextNumber}, ${draft.model || 'default model'}`;
  const isPending = isStarting || experiment?.status === 'running';
  const isReady = permitted !== undefined && canRun === true && settings !== undefined;
  const source = {
    ...(span !== null && { original_span_id: span, original_trace_id: trace }),
    original_request,
  };
  const body = JSON.stringify({ ...source, headers, ...settings, name: draft.name.trim() || nextName });
  const runsAgain = experiment && !isChanged && experiment.status !== 'completed';
  return {
    ...{ draft, isChanged, forget, nextName, isReady },
    change: (changes: Partial<typeof draft>) => setText(JSON.stringify({ ...draft, ...changes })),
    run: {
      isPending,
      start: () => isReady && !isPending && permitted(() => start(runsAgain ? experiment : body)),
      cancel: () => experiment && cancel(experiment.id),
    },
  };
}

/** The request that runs next, beside the runs until now. */
export function ExperimentBench(props: ExperimentBenchProps): ReactNode {
  const { start, actions, original, experiment, search } = props;
  const { runs, ...related } = useRelated(props);
  const { draft, change, run, ...editor } = useEditor(props, { runs, ...related });
  const first = (
    <>
      <TextField
        label="Name of the next run"
        value={draft.name}
        placeholder={editor.nextName}
        maxLength={256}
        onText={(name) => change({ name })}
      />
      <RequestEditor draft={draft} onChange={change} />
    </>
  );
  const second = (
    <>
      <div className={css.notes} aria-live="polite">
        {related.canRun === false && <NoModel />}
        {run.isPending && <Loading lines={3} />}
        {experiment?.status === 'failed' && !run.isPending && <Note tone="bad">{experiment.error}</Note>}
      </div>
      <Runs {...{ original, runs, shown: experiment?.id, search }} />
    </>
  );
  const bar = (
    <>
      <RunButton name="Run" look="primary" isReady={editor.isReady} run={run} />
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
