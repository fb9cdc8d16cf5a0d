import { resolve } from 'node:path';
import { ConfigurationError } from './configuration-error.js';
import type { Environment } from './environment.js';

/** How playbooks' vectors are made, kept and searched. */
export function embeddings(env: Environment, root: string) {
  const provider = env.EMBEDDINGS_PROVIDER as 'bundled' | 'lexical' | 'openai' | 'onnx';
  const needed = { openai: ['EMBEDDINGS_URL', 'EMBEDDINGS_MODEL'], onnx: ['EMBEDDINGS_MODEL_DIR'] } as const;
  const missing =
    provider in needed ? needed[provider as keyof typeof needed].filter((name) => !env[name]) : [];
  if (missing.length > 0) {
    throw new ConfigurationError(`EMBEDDINGS_PROVIDER=${provider} needs ${missing.join(' and ')}`);
  }
  return {
    provider,
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

/** Undefined: the provider's own. */
function calibrationIn(text: string | undefined) {
  if (text === undefined) return undefined;
  const [floor = 0, cut = 0] = text.split(',').map(Number);
  if (floor < cut && cut < 1) return { floor, cut };
  throw new ConfigurationError(
    'EMBEDDINGS_CALIBRATION: the floor must be below the cut, and the cut below 1',
  );
}
