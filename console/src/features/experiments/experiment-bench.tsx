import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import { asApiError, type CallFiguresView, type ExperimentView } from '../../lib/api.js';
import { useDraft } from '../../lib/drafts.js';
import { experimentsQuery } from '../../lib/experiment-queries.js';
import type { experimentSearch } from '../../lib/searches.js';
import { Bench, RunButton } from '../../ui/bench.js';
import { Button, TextField } from '../../ui/controls.js';
import { Muted, Note, Workspace } from '../../ui/layout.js';
import { Loading, Problem } from '../../ui/states.js';
import css from './experiments.module.css';
import { NoModel } from './no-model.js';
import { type RequestDraft, settingsOf } from './request-draft.js';
import { RequestEditor } from './request-editor.js';
import { Runs } from './runs.js';
import { useRuns } from './use-runs.js';

interface ExperimentBenchProps {
  readonly title: string;
  readonly actions?: ReactNode;
  /** Members of a new experiment that are not edited. */
  readonly source: Readonly<Record<string, unknown>>;
  /** The span that the runs start from; null: a request of their own. */
  readonly span: string | null;
  readonly original: CallFiguresView | null;
  readonly initial: RequestDraft;
  /** Absent: nothing has run yet. */
  readonly experiment?: ExperimentView;
  readonly search: ReturnType<typeof experimentSearch>;
}

/** Runs beside each other; older ones are in the list. */
const maxShown = 12;

/** The runs that start from the same request, the newest first, with the given one. */
function useRelated({ span, experiment }: ExperimentBenchProps) {
  const { data: list } = useQuery(experimentsQuery(span ?? undefined));
  const others = list?.data.filter(({ id, original_span_id: its }) => its === span && id !== experiment?.id);
  const runs = [...(others ?? []).slice(0, maxShown), ...(experiment ? [experiment] : [])];
  return {
    runs: runs.toSorted((a, b) => b.created_at.localeCompare(a.created_at)),
    nextNumber: (list?.pagination.total ?? 0) + 1,
    canRun: list?.can_run,
  };
}

interface Draft extends RequestDraft {
  readonly name: string;
}

/** The request as it is written, and its run. Each run of a changed request is stored as a new experiment. */
function useEditor(props: ExperimentBenchProps, { nextNumber, canRun }: ReturnType<typeof useRelated>) {
  const { source, span, initial, experiment } = props;
  const { against, view } = props.search;
  const key = `experiment ${experiment?.id ?? `of ${span ?? 'nothing'}`}`;
  const { text, setText, isChanged, forget } = useDraft(key, JSON.stringify({ name: '', ...initial }));
  const draft = JSON.parse(text) as Draft;
  const navigate = useNavigate();
  const { start, cancel, isPending, error } = useRuns(experiment?.id, (id) => {
    forget();
    void navigate({ to: '/experiments/$id', params: { id }, search: { against, view } });
  });
  const permitted = useAct('experiments:write');
  const settings = settingsOf(draft);
  const nextName = `Run ${nextNumber}, ${draft.model || 'default model'}`;
  const isRunning = isPending || experiment?.status === 'running';
  const isReady = permitted !== undefined && canRun === true && settings !== undefined;
  const runsAgain = experiment !== undefined && !isChanged && experiment.status !== 'completed';
  const run = (): void => {
    const body = JSON.stringify({ ...source, ...settings, name: draft.name.trim() || nextName });
    if (isReady && !isRunning) permitted(() => start(runsAgain ? undefined : body));
  };
  const change = (changes: Partial<Draft>): void => setText(JSON.stringify({ ...draft, ...changes }));
  return { draft, change, isChanged, forget, nextName, isRunning, isReady, run, cancel, error };
}

/** The request that runs next, beside the runs until now. */
export function ExperimentBench(props: ExperimentBenchProps): ReactNode {
  const { title, actions, original, experiment, search } = props;
  const related = useRelated(props);
  const editor = useEditor(props, related);
  const { draft, change, isRunning, error } = editor;
  return (
    <Workspace name={title} actions={actions}>
      <Bench
        name="experiment"
        onRun={editor.run}
        first={
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
        }
        second={
          <>
            <div className={css.notes} aria-live="polite">
              {related.canRun === false && <NoModel />}
              {isRunning && <Loading lines={3} />}
              {error && !isRunning && <Problem problem={asApiError(error)} />}
              {experiment?.status === 'failed' && !isRunning && <Note tone="bad">{experiment.error}</Note>}
            </div>
            <Runs {...{ original, runs: related.runs, shown: experiment?.id, search }} />
          </>
        }
        bar={
          <>
            <RunButton
              name="Run"
              look="primary"
              isReady={editor.isReady}
              run={{ start: editor.run, cancel: editor.cancel, isPending: isRunning }}
            />
            {editor.isChanged && <Button onClick={editor.forget}>Discard changes</Button>}
            <Muted>Each run is stored.</Muted>
          </>
        }
      />
    </Workspace>
  );
}
