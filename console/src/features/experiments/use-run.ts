import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ask, cancelExperiment, type ExperimentView, runExperiment } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { experimentQuery } from '../../lib/experiment-queries.js';
import { useFailed } from '../../ui/toasts.js';

/** Runs an experiment, or JSON text of a new one. The run goes on when the screen changes. */
export function useRun(onStarted: (id: string) => void) {
  const client = useQueryClient();
  const onError = useFailed();
  const onSettled = () => client.invalidateQueries({ queryKey: ['experiments'] });
  const run = useMutation({
    ...{ onError, onSettled },
    mutationFn: (id: string) => ask(runExperiment({ path: { id } })),
  });
  const start = useMutation({
    onError,
    mutationFn: async (given: ExperimentView | string) =>
      typeof given === 'string'
        ? sendExactly<ExperimentView>({ method: 'POST', path: '/api/v1/experiments', body: given })
        : given,
    onSuccess: (experiment) => {
      const { id } = experiment;
      client.setQueryData(experimentQuery(id).queryKey, { ...experiment, status: 'running' });
      run.mutate(id);
      void client.invalidateQueries({ queryKey: ['experiments', 'list'] });
      onStarted(id);
    },
  });
  const cancel = useMutation({
    ...{ onError, onSettled },
    mutationFn: (id: string) => ask(cancelExperiment({ path: { id } })),
  });
  return { start: start.mutate, cancel: cancel.mutate, isStarting: start.isPending };
}
