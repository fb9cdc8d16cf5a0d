import { metricTypes } from './insert-parameters.js';
import { minutesOfParameters, minutesOfRows, rollUp } from './rollups/rollup.sql.js';

const nameOf = (column: string): string =>
  column.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
const columns = Object.keys(metricTypes).map(nameOf);
const arrays = Object.entries(metricTypes).map(
  ([column, type], at) => `unnest($${at + 1}::${type}[]) AS ${nameOf(column)}`,
);
const values = columns.map((column) =>
  column === 'recorded_at' ? 'to_timestamp(recorded_at / 1000)' : column,
);
const writer = columns.length + 1;

/** What the cells count of a row. */
const returned =
  'tool_name, status, error_type, is_test, execution_time_ms, input_size, output_size, semantic_failure, recorded_at';

/** Arrays are opened among the selected: `FROM unnest(…)` puts each of them aside first, which takes longer. */
const insertRows = `
    INSERT INTO tool_metrics (${columns.join(', ')})
    SELECT ${values.join(', ')}
    FROM (SELECT ${arrays.join(', ')}) AS batch`;

/**
 * One array a column, in the order of `metricTypes`, then the writer's slot. A row that is there already stays as it
 * is and is counted no second time.
 */
export const insertMetrics = rollUp(
  `ins AS (${insertRows} ON CONFLICT (recorded_at, metric_id) DO NOTHING RETURNING ${returned}), ${minutesOfRows('ins')}`,
  `$${writer}::int`,
);

/**
 * The same where no row is there yet, with what they add up to in further arrays, in the order of `minuteColumns`. It
 * takes a quarter less of the database, and fails as a whole where a row is there.
 */
export const insertNewMetrics = rollUp(
  `ins AS (${insertRows}), ${minutesOfParameters(writer + 1)}`,
  `$${writer}::int`,
);
