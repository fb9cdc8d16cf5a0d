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
};

/** @returns a sentence for each setting that is set and gone, its variable first */
export const removedSettings = (variables: NodeJS.ProcessEnv): string[] =>
  Object.entries(removed)
    .filter(([name]) => variables[name]?.trim())
    .map(([name, instead]) => `${name}: is no setting any more; ${instead}`);
