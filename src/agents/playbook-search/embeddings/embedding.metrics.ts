import { counter, gauge, histogram } from '../../../base/observability/metrics.js';

export const durations = 'toolkeeper_embedding_duration_seconds';
export const withoutVectors = 'toolkeeper_playbook_searches_degraded_total';
export const vectors = 'toolkeeper_playbook_vectors';
export const up = 'toolkeeper_playbook_embeddings_up';

/** Metrics of the embeddings of playbooks. */
export const embeddingMetrics = [
  histogram(
    durations,
    'What the vector of a query took',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  ),
  counter(withoutVectors, 'Searches for playbooks that had to go by words alone, by reason', 'reason'),
  gauge(vectors, 'Playbooks with a vector'),
  gauge(up, 'Whether vectors are in step with the catalogue (1) or behind it (0)'),
];
