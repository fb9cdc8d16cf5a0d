import { useMutation, useMutationState, useQueryClient } from '@tanstack/react-query';
import { ask, cancelExperiment, type ExperimentView, runExperiment } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';

const mutationKey = ['run experiment'];

/** Runs experiments, and shows the last request of this tab to run the given one: the screen changes meanwhile. */
export function useRuns(id: string | undefined, onStarted: (id: string) => void) {
  const client = useQueryClient();
  const onSettled = () => client.invalidateQueries({ queryKey: ['experiments'] });
  const run = useMutation({
    ...{ mutationKey, onMutate: onSettled, onSettled },
    mutationFn: (each: string) => ask(runExperiment({ path: { id: each } })),
  });
  const start = useMutation({
    /** @param body JSON of a new experiment; undefined: the given one runs again */
    mutationFn: async (body: string | undefined) =>
      body === undefined
        ? id
        : (await sendExactly<ExperimentView>({ method: 'POST', path: '/api/v1/experiments', body })).id,
    onSuccess: (started) => {
      if (started === undefined) return;
      run.mutate(started);
      onStarted(started);
    },
  });
  const cancel = useMutation({
    onSettled,
    mutationFn: (each: string) => ask(cancelExperiment({ path: { id: each } })),
  });
  const requests = useMutationState({ filters: { mutationKey }, select: ({ state }) => state });
  const last = requests.findLast(({ variables }) => variables === id);
  return {
    start: start.mutate,
    cancel: () => id !== undefined && cancel.mutate(id),
    isPending: start.isPending || last?.status === 'pending',
    error: start.error ?? cancel.error ?? last?.error,
  };
}
