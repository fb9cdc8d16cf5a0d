import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import { deleteExperiment, type ExperimentView, type OriginalView } from '../../lib/api.js';
import { experimentQuery, originalQuery } from '../../lib/experiment-queries.js';
import { useProjects } from '../../lib/project.js';
import { Bench, RunButton } from '../../ui/bench.js';
import { Button, buttonLook } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Muted, Note, Page, Workspace } from '../../ui/layout.js';
import { Menu } from '../../ui/menu.js';
import { Loaded, Loading } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
import { useExperimentTools } from './experiment-tools.js';
import css from './experiments.module.css';
import { NoModel } from './no-model.js';
import { RequestEditor } from './request-editor.js';
import { Runs } from './runs.js';
import { type ExperimentProps, useExperiment } from './use-experiment.js';

const newRoute = getRouteApi('/shell/experiments/new');
const route = getRouteApi('/shell/experiments/$id');

/** A request without a span, to be written. */
const own = {
  original: null,
  original_span_id: null,
  original_trace_id: null,
  original_request: { messages: [{ role: 'user', content: '' }] },
};
const empty = { name: 'New experiment', headers: {}, prompt_variables: {}, model_parameters: {} };

/** An experiment from the model call of a span, or from a request of its own. Nothing is stored before the first run. */
export function NewExperimentPage(): ReactNode {
  const search = newRoute.useSearch();
  const { span, trace } = search;
  const call = useQuery({ ...originalQuery(span ?? '', trace), enabled: span !== undefined });
  const bench = ({ original, ...rest }: OriginalView | typeof own): ReactNode => {
    const start = { ...empty, ...rest, modified_request: rest.original_request };
    return <ExperimentBench key={span} {...{ start, original, search }} />;
  };
  if (span === undefined) return bench(own);
  return (
    <Loaded query={call} within={(state) => <Page name={empty.name}>{state}</Page>}>
      {bench}
    </Loaded>
  );
}

/** One run of an experiment, beside the others from the same model call. */
export function ExperimentPage(): ReactNode {
  const { id } = route.useParams();
  const search = route.useSearch();
  const experiment = useQuery(experimentQuery(id));
  return (
    <Loaded query={experiment} within={(state) => <Page name="Experiment">{state}</Page>}>
      {(data) => (
        <ExperimentBench
          key={id}
          {...{ start: data, experiment: data, search }}
          actions={<Delete id={id} name={data.name} />}
        />
      )}
    </Loaded>
  );
}

function Delete({ id, name }: Pick<ExperimentView, 'id' | 'name'>): ReactNode {
  const permitted = useAct('experiments:write');
  const { inProject } = useProjects();
  const [isDeleting, setDeleting] = useState(false);
  const navigate = route.useNavigate();
  const done = useDone('experiments');
  if (!permitted) return null;
  return (
    <>
      <Menu items={[{ name: 'Delete', isDanger: true, onClick: () => permitted(() => setDeleting(true)) }]} />
      {isDeleting && (
        <FormDialog
          title={`Delete ${name}${inProject}?`}
          about="Its request and its answer are deleted."
          name="Delete"
          look="danger"
          send={(options) => deleteExperiment({ path: { id }, ...options })}
          onDone={async () => {
            await navigate({ to: '/experiments' });
            done(`Deleted ${name}`, 'and its answer');
          }}
          stays
          onClose={() => setDeleting(false)}
        />
      )}
    </>
  );
}

/** The request that runs next, beside the runs until now. */
function ExperimentBench({
  actions,
  ...props
}: ExperimentProps & { readonly actions?: ReactNode }): ReactNode {
  const { start, experiment, search } = props;
  const editor = useExperiment(props);
  useExperimentTools(props, editor);
  const mayRun = useAct('experiments:write') !== undefined;
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
      <Muted>{mayRun ? 'Each run is stored' : editor.obstacle}.</Muted>
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
