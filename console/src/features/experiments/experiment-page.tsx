import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Sending } from '../../lib/act.js';
import { ask, deleteExperiment, type ExperimentView } from '../../lib/api.js';
import { evaluationQuery, experimentQuery, originalQuery } from '../../lib/experiment-queries.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Page } from '../../ui/layout.js';
import { Menu } from '../../ui/menu.js';
import { Loaded } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
import { ExperimentBench } from './experiment-bench.js';
import { draftOf } from './request-draft.js';

const newRoute = getRouteApi('/shell/experiments/new');
const route = getRouteApi('/shell/experiments/$id');

const ownRequest = { messages: [{ role: 'user', content: '' }] };

/** An experiment from the model call of a span, or from a request of its own. Nothing is stored before the first run. */
export function NewExperimentPage(): ReactNode {
  const search = newRoute.useSearch();
  const { span, trace } = search;
  const title = 'New experiment';
  const call = useQuery({ ...originalQuery(span ?? '', trace), enabled: span !== undefined });
  if (span === undefined) {
    const source = { original_request: ownRequest };
    return (
      <ExperimentBench
        {...{ title, source, span: null, original: null, initial: draftOf(ownRequest), search }}
      />
    );
  }
  return (
    <Loaded query={call} within={(state) => <Page name={title}>{state}</Page>}>
      {({ original, ...source }) => (
        <ExperimentBench
          key={span}
          {...{ title, source, span, original, initial: draftOf(source.original_request), search }}
        />
      )}
    </Loaded>
  );
}

/** One run of an experiment, beside the others from the same model call. */
export function ExperimentPage(): ReactNode {
  const { id } = route.useParams();
  const experiment = useQuery(experimentQuery(id));
  return (
    <Loaded query={experiment} within={(state) => <Page name="Experiment">{state}</Page>}>
      {(data) => <Experiment key={id} experiment={data} />}
    </Loaded>
  );
}

function Experiment({ experiment }: { readonly experiment: ExperimentView }): ReactNode {
  const { name, original_span_id: span, original_trace_id, original_request, headers } = experiment;
  const evaluation = useQuery(evaluationQuery(experiment));
  return (
    <ExperimentBench
      title={name}
      actions={<Delete id={experiment.id} name={name} />}
      source={{
        ...(span !== null && { original_span_id: span, original_trace_id }),
        original_request,
        headers,
      }}
      original={evaluation.data?.original ?? null}
      initial={draftOf(
        { ...experiment.modified_request, ...experiment.model_parameters },
        experiment.prompt_variables,
      )}
      {...{ span, experiment, search: route.useSearch() }}
    />
  );
}

function Delete({ id, name }: Pick<ExperimentView, 'id' | 'name'>): ReactNode {
  const permitted = useAct('experiments:write');
  const [isDeleting, setDeleting] = useState(false);
  const navigate = route.useNavigate();
  const done = useDone('experiments');
  const send = (options?: Sending) => deleteExperiment({ path: { id }, ...options });
  const change = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: async () => {
      await navigate({ to: '/experiments' });
      done(`Deleted ${name}`, 'and its answer');
    },
  });
  if (!permitted) return null;
  return (
    <>
      <Menu items={[{ name: 'Delete', isDanger: true, onClick: () => permitted(() => setDeleting(true)) }]} />
      {isDeleting && (
        <FormDialog
          title={`Delete ${name}`}
          about="Its request and its answer are deleted."
          name="Delete"
          look="danger"
          {...{ change, send, onClose: () => setDeleting(false) }}
        />
      )}
    </>
  );
}
