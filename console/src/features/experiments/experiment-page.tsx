import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import { deleteExperiment, type ExperimentView, type OriginalView } from '../../lib/api.js';
import { experimentQuery, originalQuery } from '../../lib/experiment-queries.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Page } from '../../ui/layout.js';
import { Menu } from '../../ui/menu.js';
import { Loaded } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
import { ExperimentBench } from './experiment-bench.js';

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
  const [isDeleting, setDeleting] = useState(false);
  const navigate = route.useNavigate();
  const done = useDone('experiments');
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
