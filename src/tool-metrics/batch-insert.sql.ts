import { minutesOfParameters, minutesOfRows, rollUp } from './rollups/rollup.sql.js';

const columns = `
      metric_id, tool_name, user_id, session_id, request_id, investigation_id, run_id, status, execution_time_ms,
      error_type, error_message, parameters_hash, input_size, output_size, metadata, is_test, tool_fault`;

/** What the cells count of a row. */
const returned =
  'tool_name, status, error_type, is_test, execution_time_ms, input_size, output_size, semantic_failure, recorded_at';

const insertRows = `
    INSERT INTO tool_metrics (${columns}, recorded_at)
    SELECT ${columns}, to_timestamp(recorded_ms / 1000)
    FROM unnest(
      $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[],
      $10::text[], $11::text[], $12::text[], $13::int[], $14::int[], $15::jsonb[], $16::bool[], $17::bool[],
      $18::float8[]
    ) AS batch (${columns}, recorded_ms)`;

/**
 * One array a column, in the order of `metricColumns`, then the writer's slot. A row that is there already stays as it
 * is and is counted no second time.
 */
export const insertMetrics = rollUp(
  `ins AS (${insertRows} ON CONFLICT (recorded_at, metric_id) DO NOTHING RETURNING ${returned}), ${minutesOfRows('ins')}`,
  '$19::int',
);

/**
 * The same where no row is there yet, with what they add up to in further arrays, in the order of `minuteColumns`. It
 * takes a quarter less of the database, and fails as a whole where a row is there.
 */
export const insertNewMetrics = rollUp(`ins AS (${insertRows}), ${minutesOfParameters(20)}`, '$19::int');
