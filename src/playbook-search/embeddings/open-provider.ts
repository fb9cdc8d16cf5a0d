import { CircuitBreaker } from '../../common/circuit-breaker.js';
import type { CircuitSettings } from '../../common/circuit-state.js';
import { systemClock } from '../../common/clock.js';
import type { AppConfig } from '../../config/app-config.js';
import {
  type EmbeddingCalibration,
  type EmbeddingProvider,
  EmbeddingUnavailable,
} from '../embedding-provider.js';
import { EmbeddingThread } from './embedding-thread.js';
import { EndpointProvider } from './endpoint.provider.js';
import { readModelDirectory } from './model-directory.js';
import { ThreadProvider } from './thread.provider.js';
import type { ModelOrder } from './thread-messages.js';

export type ProviderKind = 'bundled' | 'openai' | 'onnx';
export type ProviderConfig = Pick<AppConfig, 'embeddings'>;

/** What a raw cosine is worth, from docs/performance.md ("Playbooks found"); EMBEDDINGS_CALIBRATION replaces it. */
const calibrations: Record<'bundled' | 'openai', EmbeddingCalibration> = {
  bundled: { floor: 0.4, cut: 0.72 },
  openai: { floor: 0.2, cut: 0.4 },
};

/** An endpoint that fails half of its tries is left alone; then one request probes it. */
const endpointCircuit: CircuitSettings = {
  failures: 1,
  minCalls: 5,
  minFailureRate: 0.5,
  windowMs: 300_000,
  openMs: 30_000,
  maxOpenMs: 30_000,
  probes: 1,
  faultsAre: 'failures',
};

/**
 * Makes the provider of a kind; nothing is loaded or asked before its first text.
 * @param onTrouble for the log: a model's thread ended by itself
 * @throws EmbeddingUnavailable `misconfigured` when the model directory is not one
 */
export async function openProvider(
  kind: ProviderKind,
  config: ProviderConfig,
  onTrouble: (trouble: EmbeddingUnavailable) => void,
): Promise<EmbeddingProvider> {
  switch (kind) {
    case 'bundled':
      return new ThreadProvider(
        { id: 'bundled:use-lite-0.2.0', calibration: config.embeddings.calibration ?? calibrations.bundled },
        threadFor({ kind: 'use-lite' }, config, onTrouble),
      );
    case 'onnx':
      return onnxProvider(config, onTrouble);
    case 'openai':
      return endpointProvider(config);
  }
}

async function onnxProvider(
  config: ProviderConfig,
  onTrouble: (trouble: EmbeddingUnavailable) => void,
): Promise<EmbeddingProvider> {
  const { modelDir, calibration } = config.embeddings;
  if (modelDir === undefined) throw missing('onnx', 'EMBEDDINGS_MODEL_DIR');
  const { id, model, prefixes, calibration: ofModel } = await readModelDirectory(modelDir);
  return new ThreadProvider(
    { id, prefixes, calibration: calibration ?? ofModel },
    threadFor({ kind: 'onnx', model }, config, onTrouble),
  );
}

function endpointProvider({ embeddings }: ProviderConfig): EmbeddingProvider {
  const { url, model, apiKey, dimensions, timeoutMs, queryTimeoutMs } = embeddings;
  if (url === undefined) throw missing('openai', 'EMBEDDINGS_URL');
  if (model === undefined) throw missing('openai', 'EMBEDDINGS_MODEL');
  return new EndpointProvider(
    {
      address: { url, model, apiKey, dimensions },
      calibration: embeddings.calibration ?? calibrations.openai,
      batch: embeddings.batch,
      timeoutMs: { query: queryTimeoutMs, document: timeoutMs },
      retries: { query: 1, document: 3 },
      retryMs: 200,
    },
    new CircuitBreaker(endpointCircuit, systemClock, Math.random),
  );
}

function threadFor(
  order: ModelOrder,
  { embeddings }: ProviderConfig,
  onTrouble: (trouble: EmbeddingUnavailable) => void,
): EmbeddingThread {
  return new EmbeddingThread({
    script: new URL('./embedding.worker.js', import.meta.url),
    order,
    maxQueue: embeddings.maxQueue,
    loadTimeoutMs: 60_000,
    textTimeoutMs: 30_000,
    idleMs: embeddings.idleMs,
    retry: { firstMs: 1_000, longestMs: 300_000 },
    onTrouble,
  });
}

function missing(kind: ProviderKind, variable: string): EmbeddingUnavailable {
  return new EmbeddingUnavailable('misconfigured', `EMBEDDINGS_PROVIDER=${kind} needs ${variable}`);
}
