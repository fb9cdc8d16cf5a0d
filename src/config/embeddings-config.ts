import { resolve } from 'node:path';
import type { Environment } from './environment.js';

/** How playbooks' vectors are made, kept and searched. */
export function embeddings(env: Environment, root: string) {
  return {
    provider: providerOf(env),
    url: env.EMBEDDINGS_URL,
    model: env.EMBEDDINGS_MODEL,
    apiKey: env.EMBEDDINGS_API_KEY,
    /** Undefined: the model's own. */
    dimensions: env.EMBEDDINGS_DIMENSIONS || undefined,
    batch: env.EMBEDDINGS_BATCH,
    timeoutMs: env.EMBEDDINGS_TIMEOUT_MS,
    queryTimeoutMs: env.EMBEDDINGS_QUERY_TIMEOUT_MS,
    modelDir: env.EMBEDDINGS_MODEL_DIR === undefined ? undefined : resolve(root, env.EMBEDDINGS_MODEL_DIR),
    calibration: calibrationIn(env.EMBEDDINGS_CALIBRATION),
    maxQueue: env.EMBEDDINGS_MAX_QUEUE,
    idleMs: env.EMBEDDINGS_IDLE_MS,
    syncIntervalMs: env.EMBEDDINGS_SYNC_INTERVAL_MS,
    index: env.EMBEDDINGS_INDEX as 'auto' | 'memory' | 'pgvector',
  };
}

const needs: Readonly<Record<ReturnType<typeof providerOf>, readonly (keyof Environment)[]>> = {
  bundled: [],
  lexical: [],
  openai: ['EMBEDDINGS_URL', 'EMBEDDINGS_MODEL'],
  onnx: ['EMBEDDINGS_MODEL_DIR'],
};

/** What does not go together, each said with its variable first. */
export function embeddingsProblems(env: Environment): string[] {
  const provider = providerOf(env);
  // A provider that there is not is told where variables are looked at one by one.
  const missing = needs[provider]?.filter((name) => !env[name]) ?? [];
  const calibration = calibrationIn(env.EMBEDDINGS_CALIBRATION);
  const fits = !calibration || (calibration.floor < calibration.cut && calibration.cut < 1);
  return [
    ...(missing.length > 0 ? [`EMBEDDINGS_PROVIDER: ${provider} needs ${missing.join(' and ')}`] : []),
    ...(fits ? [] : ['EMBEDDINGS_CALIBRATION: the floor must be below the cut, and the cut below 1']),
  ];
}

const providerOf = (env: Environment) => env.EMBEDDINGS_PROVIDER as 'bundled' | 'lexical' | 'openai' | 'onnx';

/** Undefined: the provider's own. */
function calibrationIn(text: string | undefined) {
  if (text === undefined) return undefined;
  const [floor = 0, cut = 0] = text.split(',').map(Number);
  return { floor, cut };
}
