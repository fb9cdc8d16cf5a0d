import type { Environment } from './environment.js';

/** @returns undefined while no service is named: playbooks are found in our own catalogue */
export function dataStorage(env: Environment) {
  if (env.DATA_STORAGE_URL === undefined) return undefined;
  return {
    url: env.DATA_STORAGE_URL,
    token: env.DATA_STORAGE_TOKEN,
    timeoutMs: env.DATA_STORAGE_TIMEOUT_MS,
    deadlineMs: env.DATA_STORAGE_DEADLINE_MS,
    retries: env.DATA_STORAGE_RETRIES,
    pauseMs: env.DATA_STORAGE_RETRY_PAUSE_MS,
    connections: env.DATA_STORAGE_CONNECTIONS,
    maxResponseBytes: env.DATA_STORAGE_MAX_RESPONSE_BYTES,
    cache: {
      maxBytes: env.DATA_STORAGE_CACHE_MAX_BYTES,
      freshMs: env.PLAYBOOK_CACHE_TTL_MS,
      staleMs: env.DATA_STORAGE_STALE_MS,
    },
    circuit: {
      // The rate decides alone, from so many tries on.
      failures: 1,
      minCalls: env.DATA_STORAGE_CIRCUIT_MIN_TRIES,
      faultsAre: 'failed tries',
      minFailureRate: env.DATA_STORAGE_CIRCUIT_FAILURE_RATE,
      windowMs: env.DATA_STORAGE_CIRCUIT_WINDOW_MS,
      openMs: env.DATA_STORAGE_CIRCUIT_OPEN_MS,
      maxOpenMs: Math.max(300_000, env.DATA_STORAGE_CIRCUIT_OPEN_MS),
      probes: 1,
    },
  };
}
