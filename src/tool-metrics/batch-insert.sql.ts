/** One array a column, in the order of `insertParameters`. A row that is there already stays as it is. */
export const insertMetrics = `
  INSERT INTO tool_metrics (
    metric_id, tool_name, user_id, session_id, request_id, investigation_id, run_id, status, execution_time_ms,
    error_type, error_message, parameters_hash, input_size, output_size, metadata, is_test, tool_fault, recorded_at
  )
  SELECT
    metric_id, tool_name, user_id, session_id, request_id, investigation_id, run_id, status, execution_time_ms,
    error_type, error_message, parameters_hash, input_size, output_size, metadata, is_test, tool_fault,
    to_timestamp(recorded_ms / 1000)
  FROM unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[],
    $10::text[], $11::text[], $12::text[], $13::int[], $14::int[], $15::jsonb[], $16::bool[], $17::bool[],
    $18::float8[]
  ) AS batch (
    metric_id, tool_name, user_id, session_id, request_id, investigation_id, run_id, status, execution_time_ms,
    error_type, error_message, parameters_hash, input_size, output_size, metadata, is_test, tool_fault, recorded_ms
  )
  ON CONFLICT (recorded_at, metric_id) DO NOTHING`;
