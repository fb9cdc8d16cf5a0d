import type { Queryable } from '../database/column-arrays.js';
import { isValueFault } from '../database/sql-state.js';
import { metricColumns } from './metric-columns.js';
import { rollUp } from './rollups/rollup.sql.js';
import type { ToolMetric } from './tool-metric.entity.js';

const { names } = metricColumns;
const values = names.map((name) => (name === 'recorded_at' ? 'to_timestamp(recorded_at / 1000)' : name));
const writer = names.length + 1;

/** The columns of a row that the cells count. */
const returned =
  'tool_name, status, error_type, is_test, execution_time_ms, input_size, output_size, semantic_failure, recorded_at';

const insertRows = `
    INSERT INTO tool_metrics (${names.join(', ')})
    SELECT ${values.join(', ')}
    FROM (${metricColumns.select}) AS batch`;

/**
 * One array a column, in the order of `metricColumns`, then the writer's slot. A row that is there already stays as it
 * is and is counted no second time.
 */
const insertMetrics = rollUp(
  `${insertRows} ON CONFLICT (recorded_at, metric_id) DO NOTHING RETURNING ${returned}`,
  `$${writer}::int`,
);

/** The writer slot of metrics that come without a journal; journals lease theirs from 1 on. */
export const directSlot = 0;

/** A metric that cannot even be sent. */
class UnstorableMetric extends Error {
  override readonly name = 'UnstorableMetric';
}

/**
 * Writes metrics in one statement; ids that are there already change nothing, so that a batch may be repeated.
 * @param writerSlot no two writers share one at the same time
 * @throws UnstorableMetric, or what the database says; `isRowFault` tells whose fault it is
 */
export async function insertBatch(
  db: Queryable,
  metrics: readonly ToolMetric[],
  writerSlot: number,
): Promise<void> {
  if (metrics.length === 0) return;
  await db.query(insertMetrics, [...parametersOf(metrics), writerSlot]);
}

/** Trying again would fail again: the values are to blame, not the database. */
export function isRowFault(error: unknown): boolean {
  return error instanceof UnstorableMetric || isValueFault(error);
}

function parametersOf(metrics: readonly ToolMetric[]): string[] {
  try {
    return metricColumns.parametersOf(metrics);
  } catch (error) {
    throw new UnstorableMetric('The metric cannot be written down', { cause: error });
  }
}
