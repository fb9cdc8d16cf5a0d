import { queryOptions } from '@tanstack/react-query';
import {
  ask,
  type ExperimentView,
  getExperimentEvaluation,
  type ListedExperimentView,
  listExperiments,
  listExperimentsBySpan,
  type OriginalView,
} from './api.js';
import { fetchExactly } from './calls.js';
import { inEach, type Sought } from './project.js';

/** Maximum experiments of a project. */
const all = 1_000;

/** The newest first. @param span the span that they start from; undefined: any */
export const experimentsQuery = (span?: string) =>
  queryOptions({
    queryKey: ['experiments', 'list', span],
    queryFn: ({ signal }) => {
      const rest = { query: { limit: all }, signal };
      return ask(
        span === undefined ? listExperiments(rest) : listExperimentsBySpan({ path: { id: span }, ...rest }),
      );
    },
  });

/** Experiments of several projects, newest first. */
export const experimentsIn = (projects: Sought) =>
  queryOptions({
    queryKey: ['experiments', 'list', projects],
    queryFn: async ({ signal }) => {
      const lists = await inEach(projects, (project) =>
        ask(listExperiments({ query: { limit: all, project }, signal })),
      );
      const data = lists.flatMap((list) => list.data);
      data.sort((a, b) => b.created_at.localeCompare(a.created_at));
      return { can_run: lists[0]?.can_run, data };
    },
  });

export const experimentQuery = (id: string) =>
  queryOptions({
    queryKey: ['experiments', 'one', id],
    queryFn: ({ signal }) =>
      fetchExactly<ExperimentView>(`/api/v1/experiments/${encodeURIComponent(id)}`, signal),
    refetchInterval: ({ state: { data } }) => data?.status === 'running' && 2_000,
  });

export const evaluationQuery = ({
  id,
  updated_at: version,
}: Pick<ListedExperimentView, 'id' | 'updated_at'>) =>
  queryOptions({
    queryKey: ['experiments', 'evaluation', id, version],
    queryFn: ({ signal }) => ask(getExperimentEvaluation({ path: { id }, signal })),
    // Each run has another version.
    staleTime: Infinity,
  });

/** The model call of a span, with its request in OpenAI's form. */
export const originalQuery = (span: string, trace: string | undefined) =>
  queryOptions({
    queryKey: ['experiments', 'original', span, trace],
    queryFn: ({ signal }) => {
      const query = trace === undefined ? '' : `?trace_id=${encodeURIComponent(trace)}`;
      const path = `/api/v1/experiments/by-span/${encodeURIComponent(span)}/original${query}`;
      return fetchExactly<OriginalView>(path, signal);
    },
    // Experiments are drafts of it: another answer would take them away.
    staleTime: Infinity,
  });
