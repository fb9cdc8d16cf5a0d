import { counter, gauge, histogram } from '../../../base/observability/metrics.js';

/** Names of metrics, for @InjectMetric. */
export const durationsMetric = 'toolkeeper_embedding_duration_seconds';
export const degradedSearchesMetric = 'toolkeeper_playbook_searches_degraded_total';
export const vectorsMetric = 'toolkeeper_playbook_vectors';
export const upMetric = 'toolkeeper_playbook_embeddings_up';

export const embeddingMetrics = [
  histogram(
    durationsMetric,
    'Duration of embedding the query of a search',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  ),
  counter(
    degradedSearchesMetric,
    'Searches for playbooks by words alone because vectors were missing, by reason',
    'reason',
  ),
  gauge(vectorsMetric, 'Playbooks with a vector'),
  gauge(upMetric, '1 if all playbooks and queries get vectors, 0 if some do not'),
];
