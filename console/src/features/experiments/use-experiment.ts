import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useAct } from '../../app/sign-in-gate.js';
import {
  ask,
  type CallFiguresView,
  cancelExperiment,
  type ExperimentView,
  runExperiment,
} from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { useDraft } from '../../lib/drafts.js';
import { evaluationQuery, experimentQuery, experimentsQuery } from '../../lib/experiment-queries.js';
import type { experimentSearch } from '../../lib/searches.js';
import { useFailed } from '../../ui/toasts.js';
import { dataOf, draftOf, type Json, type RequestDraft } from './request-draft.js';

type Stored = 'id' | 'description' | 'project_id' | 'status' | 'error' | 'result' | `${string}_at`;

export interface ExperimentProps {
  /** Members of an experiment that may not be stored yet. */
  readonly start: Omit<ExperimentView, Stored>;
  /** Absent: nothing has run yet. */
  readonly experiment?: ExperimentView;
  /** The call that the experiment starts from; absent: the evaluation has it, or there is none. */
  readonly original?: CallFiguresView | null;
  readonly search: ReturnType<typeof experimentSearch>;
}

/** The editor of an experiment with its last run. Each run of a changed request is stored as a new experiment. */
export type ExperimentEditor = ReturnType<typeof useExperiment>;

export function useExperiment(props: ExperimentProps) {
  const { start: members, experiment } = props;
  const { runs, nextNumber, canRun, isPending } = useRelated(props);
  const { draft, data, ...editor } = useRequest(props);
  const stored = evaluationQuery(experiment ?? { id: '', updated_at: '' });
  const evaluation = useQuery({ ...stored, enabled: experiment !== undefined });
  const permitted = useAct('experiments:write');
  const navigate = useNavigate();
  const { start, cancel, isStarting } = useRun((id) => {
    editor.forget();
    const search = { ...props.search, span: undefined, trace: undefined };
    void navigate({ to: '/experiments/$id', params: { id }, search });
  });
  const nextName = `Run ${nextNumber}, ${draft.model || 'default model'}`;
  const running = isStarting || experiment?.status === 'running';
  const obstacle = [
    !permitted && 'Your key lacks the scope experiments:write',
    canRun === undefined && 'The screen is not loaded yet',
    canRun === false && 'No language model is configured: LLM_BASE_URL and LLM_MODEL are not set',
    !data && 'The request in the editor is not valid',
    running && 'The experiment runs',
  ].find((each) => each !== false);
  const runsAgain = experiment && !editor.isChanged && experiment.status !== 'completed';
  const unevaluated = { hasResults: false, original: props.original ?? null, new: null, comparison: null };
  return {
    ...editor,
    draft,
    /**
     * The request that runs next: its members in OpenAI's form, and beside them `name`, `headers` and `promptVariables`.
     * Undefined while a text in the editor is invalid.
     */
    data,
    /** The request that the experiment starts from. */
    original: members.original_request,
    /** The answer of the last run. */
    result: experiment?.result ?? null,
    running,
    /** Undefined while it is loaded. */
    evaluation: experiment ? evaluation.data : unevaluated,
    /** Runs the request to its end; it is stored as a new experiment unless it is one without an answer. */
    run: (): Promise<ExperimentView> => {
      if (obstacle !== undefined || !permitted || !data) return Promise.reject(new Error(obstacle));
      const given = runsAgain ? experiment : bodyOf(members, data, nextName);
      return new Promise((resolve, reject) => permitted(() => void start(given).then(resolve, reject)));
    },
    /** The reason for which it cannot run now. */
    obstacle,
    cancel: () => experiment && cancel(experiment.id),
    /** The runs that start from the same request, the newest first. */
    runs,
    canRun,
    /** Runs and whether one can run are being loaded. */
    isPending,
    /** The name of the next run unless another is written. */
    nextName,
  };
}

/** Runs beside each other; older ones are in the list. */
const maxShown = 12;

/** The runs that start from the same request, with the given one. */
function useRelated({ start: { original_span_id: span }, experiment }: ExperimentProps) {
  const { data: list, isPending } = useQuery(experimentsQuery(span ?? undefined));
  const others = list?.data.filter(({ id, original_span_id: its }) => its === span && id !== experiment?.id);
  const runs = [...(others ?? []).slice(0, maxShown), ...(experiment ? [experiment] : [])];
  return {
    runs: runs.toSorted((a, b) => b.created_at.localeCompare(a.created_at)),
    nextNumber: (list?.pagination.total ?? 0) + 1,
    canRun: list?.can_run,
    isPending,
  };
}

/** The request as a draft of the browser's tab. */
function useRequest({ start, experiment }: ExperimentProps) {
  const { modified_request, model_parameters, prompt_variables: promptVariables, headers } = start;
  const initial = draftOf({ ...modified_request, ...model_parameters, headers, promptVariables });
  const key = `experiment ${experiment?.id ?? `of ${start.original_span_id ?? 'nothing'}`}`;
  const { text, setText, ...rest } = useDraft(key, JSON.stringify(initial));
  const draft = JSON.parse(text) as RequestDraft;
  const data = dataOf(draft);
  return {
    ...{ ...rest, draft, data },
    change: (changes: Partial<RequestDraft>) => setText(JSON.stringify({ ...draft, ...changes })),
    /** Replaces members of `data`, each as a whole. @throws Error while `data` is invalid */
    apply: (patch: Json) => {
      if (!data) throw new Error('The request in the editor is not valid: correct it first');
      setText(JSON.stringify(draftOf({ ...data, ...patch })));
    },
  };
}

/** JSON text, so that numbers which JavaScript cannot hold stay as they are. */
function bodyOf(start: ExperimentProps['start'], data: Json, nextName: string): string {
  const { original_span_id: span, original_trace_id: trace, original_request } = start;
  const { name, headers, promptVariables: prompt_variables, ...modified_request } = data;
  return JSON.stringify({
    ...(span !== null && { original_span_id: span, original_trace_id: trace }),
    ...{ original_request, modified_request, headers, prompt_variables },
    name: String(name).trim() || nextName,
  });
}

/** Runs an experiment, or JSON text of a new one, to its end. The run goes on when the screen changes. */
function useRun(onStarted: (id: string) => void) {
  const client = useQueryClient();
  const onError = useFailed();
  const onSettled = () => client.invalidateQueries({ queryKey: ['experiments'] });
  const start = useMutation({
    ...{ onError, onSettled },
    mutationFn: async (given: ExperimentView | string) => {
      const request = { method: 'POST', path: '/api/v1/experiments' } as const;
      const experiment =
        typeof given === 'string' ? await sendExactly<ExperimentView>({ ...request, body: given }) : given;
      const { id } = experiment;
      client.setQueryData(experimentQuery(id).queryKey, { ...experiment, status: 'running' });
      void client.invalidateQueries({ queryKey: ['experiments', 'list'] });
      onStarted(id);
      return ask(runExperiment({ path: { id } }));
    },
  });
  const cancel = useMutation({
    ...{ onError, onSettled },
    mutationFn: (id: string) => ask(cancelExperiment({ path: { id } })),
  });
  return { start: start.mutateAsync, cancel: cancel.mutate, isStarting: start.isPending };
}
