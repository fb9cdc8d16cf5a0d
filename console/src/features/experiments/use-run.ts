import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ask, cancelExperiment, type ExperimentView, runExperiment } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { experimentQuery } from '../../lib/experiment-queries.js';
import { useFailed } from '../../ui/toasts.js';

/** Runs an experiment, or JSON text of a new one, to its end. The run goes on when the screen changes. */
export function useRun(onStarted: (id: string) => void) {
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
