import { metricColumns } from './metric-columns.js';
import { rollUp } from './rollups/rollup.sql.js';

const nameOf = (column: string): string =>
  column.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
const columns = Object.keys(metricColumns).map(nameOf);
const arrays = Object.entries(metricColumns).map(
  ([column, [type]], at) => `unnest($${at + 1}::${type}[]) AS ${nameOf(column)}`,
);
const values = columns.map((column) =>
  column === 'recorded_at' ? 'to_timestamp(recorded_at / 1000)' : column,
);
const writer = columns.length + 1;

/** The columns of a row that the cells count. */
const returned =
  'tool_name, status, error_type, is_test, execution_time_ms, input_size, output_size, semantic_failure, recorded_at';

/** Arrays are opened among the selected: `FROM unnest(…)` puts each of them aside first, which takes longer. */
const insertRows = `
    INSERT INTO tool_metrics (${columns.join(', ')})
    SELECT ${values.join(', ')}
    FROM (SELECT ${arrays.join(', ')}) AS batch`;

/**
 * One array a column, in the order of `metricColumns`, then the writer's slot. A row that is there already stays as it
 * is and is counted no second time.
 */
export const insertMetrics = rollUp(
  `${insertRows} ON CONFLICT (recorded_at, metric_id) DO NOTHING RETURNING ${returned}`,
  `$${writer}::int`,
);
