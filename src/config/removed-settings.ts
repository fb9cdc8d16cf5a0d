/** Settings of earlier versions, and what replaces each: a start with one of them would not do what its operator means. */
const removed: Readonly<Record<string, string>> = {
  EMBEDDINGS_PROVIDER: 'search goes by words, and by meaning too with EMBEDDINGS_URL and EMBEDDINGS_MODEL',
  EMBEDDINGS_MODEL_DIR:
    'serve the model behind an OpenAI-compatible endpoint and name that in EMBEDDINGS_URL',
  EMBEDDINGS_CALIBRATION: 'EMBEDDINGS_CUT takes the second of its two numbers',
  EMBEDDINGS_INDEX: 'vectors are searched in memory',
  EMBEDDINGS_DIMENSIONS: "vectors have the model's own dimensions",
  EMBEDDINGS_BATCH: 'an endpoint is asked for 32 texts at once',
  EMBEDDINGS_TIMEOUT_MS: 'an endpoint has 30 seconds for 32 texts of playbooks',
  EMBEDDINGS_QUERY_TIMEOUT_MS: 'a search waits one second for the vector of its query',
  EMBEDDINGS_MAX_QUEUE: 'there is no model in this process any more',
  EMBEDDINGS_IDLE_MS: 'there is no model in this process any more',
  EMBEDDINGS_SYNC_INTERVAL_MS: 'vectors follow the catalogue when it changes',
  BODY_LIMIT_BYTES: 'a body may have 4 MiB, or what TOOL_INPUT_MAX_BYTES needs if that is more',
  CUSTOM_TOOLS_MAX_PROCESS_RSS_BYTES: 'it is 1 GiB, or what sandbox.maxMemoryMB of the tool says',
  CUSTOM_TOOLS_LOG_STREAMS: 'EVENTS_STREAMS bounds those who follow logs, too',
  CIRCUIT_WINDOW_MS: 'it is five minutes, or what thresholds.windowMinutes of the tool says',
};

/** Settings whose former default is now what always holds. */
const constants = `
  REQUEST_TIMEOUT_MS SSE_HEARTBEAT_MS DATABASE_CONNECT_TIMEOUT_MS DATABASE_QUERY_TIMEOUT_MS
  DATABASE_STATEMENT_TIMEOUT_MS DATABASE_IDLE_TRANSACTION_TIMEOUT_MS CUSTOM_TOOLS_HEALTH_TIMEOUT
  CUSTOM_TOOLS_RELOAD_INTERVAL CUSTOM_TOOLS_MAX_CONCURRENT_STARTS CUSTOM_TOOLS_MAX_REQUESTS_PER_PROCESS
  CUSTOM_TOOLS_MAX_PROCESS_AGE_MS CUSTOM_TOOLS_PROCESS_CHECK_INTERVAL CUSTOM_TOOLS_OUTPUT_LINES_PER_SECOND
  CUSTOM_TOOLS_STDERR_BYTES CUSTOM_TOOLS_IDLE_TIMEOUT CUSTOM_TOOLS_STOP_GRACE CUSTOM_TOOLS_CANCEL_GRACE
  CUSTOM_TOOLS_LOG_ENTRIES CUSTOM_TOOLS_LOG_BYTES CUSTOM_TOOLS_LOG_LINE_BYTES
  CUSTOM_TOOLS_LOG_LINES_PER_SECOND TOOL_INPUT_MAX_DEPTH TOOL_SCHEMA_MAX_BYTES TOOL_SCHEMA_MAX_DEPTH
  RECORDER_BATCH_SIZE RECORDER_FLUSH_INTERVAL_MS CIRCUIT_MAX_OPEN_MS CIRCUIT_PROBES HEALTH_WATCH_INTERVAL_MS
  INVESTIGATION_MAX_TRACKED IDEMPOTENCY_LEASE_MS IDEMPOTENCY_MAX_OUTCOME_BYTES RESULT_CACHE_MAX_BYTES
  EVENTS_KEPT WEBHOOK_TIMEOUT_MS WEBHOOK_MAX_ATTEMPTS WEBHOOK_MAX_QUEUE PLAYBOOKS_REFRESH_INTERVAL_MS
  DATA_STORAGE_TIMEOUT_MS DATA_STORAGE_DEADLINE_MS DATA_STORAGE_RETRIES DATA_STORAGE_RETRY_PAUSE_MS
  DATA_STORAGE_CONNECTIONS DATA_STORAGE_MAX_RESPONSE_BYTES DATA_STORAGE_CACHE_MAX_BYTES
  DATA_STORAGE_STALE_MS DATA_STORAGE_CIRCUIT_MIN_TRIES DATA_STORAGE_CIRCUIT_FAILURE_RATE
  DATA_STORAGE_CIRCUIT_WINDOW_MS DATA_STORAGE_CIRCUIT_OPEN_MS CIRCUIT_OPEN_MS
`;

/** @returns a sentence for each setting that is set and gone, its variable first */
export function removedSettings(variables: NodeJS.ProcessEnv): string[] {
  const fixed = constants.trim().split(/\s+/);
  const all = {
    ...removed,
    ...Object.fromEntries(fixed.map((name) => [name, 'its former default always holds'])),
  };
  return Object.entries(all)
    .filter(([name]) => variables[name]?.trim())
    .map(([name, instead]) => `${name}: is no setting any more; ${instead}`);
}
