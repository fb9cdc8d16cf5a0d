/** The pool as the server builds it, over the server's own limits and launcher. */
import '../../dist/src/common/held-tick.js';
import { Deadline } from '../../dist/src/common/deadline.js';
import { loadConfig } from '../../dist/src/config/app-config.js';
import { ProcessBudget } from '../../dist/src/process-pool/process-budget.js';
import { ProcessPool } from '../../dist/src/process-pool/process-pool.js';
import { SpawnGate } from '../../dist/src/process-pool/spawn-gate.js';
import { launch as launchDirectly } from '../../dist/src/process-pool/process-group.js';
import { findSpawner } from '../../dist/src/process-pool/spawner-binary.js';
import { SpawnerClient } from '../../dist/src/process-pool/spawner-client.js';

const { customTools, toolInput, root } = loadConfig({});
const binary = findSpawner(root);
const spawner = binary && new SpawnerClient({ binary, maxUnderWay: customTools.maxConcurrentStarts });
spawner?.start();

/** Starts processes as the server does. */
export const launch = spawner?.launch ?? launchDirectly;
export const closeLauncher = () => spawner?.close();

export const budget = new ProcessBudget(customTools.maxProcesses);
export const gate = new SpawnGate(customTools.maxConcurrentStarts);

export function makePool(command, args, overrides = {}, options = {}) {
  const settings = {
    name: 'bench',
    spec: { command, args, cwd: process.cwd(), env: { PATH: process.env.PATH } },
    minProcesses: 0,
    poolSize: 1,
    keepAlive: true,
    maxConcurrency: 1,
    maxQueue: customTools.maxQueue,
    idleTimeoutMs: customTools.idleTimeoutMs,
    maxRequests: customTools.maxRequestsPerProcess,
    maxAgeMs: customTools.maxProcessAgeMs,
    maxRssBytes: customTools.maxProcessRssBytes,
    startTimeoutMs: customTools.startTimeoutMs,
    stopGraceMs: customTools.stopGraceMs,
    cancelGraceMs: customTools.cancelGraceMs,
    maxLineBytes: customTools.maxOutputBytes,
    maxPendingInputBytes: 4 * toolInput.maxBytes,
    stderrBytes: customTools.stderrBytes,
    maxFailedStarts: 3,
    ...overrides,
  };
  return new ProcessPool(settings, { budget, gate, launcher: launch, ...options });
}

/** One call as the door makes it: a place, a lease, the request, both given back. */
export async function poolCall(pool, input) {
  const release = pool.reserve();
  try {
    const { reply } = await pool.execute({
      method: 'execute',
      params: (timeout) => ({ input, context: { ...context, timeout } }),
      deadline: Deadline.ofSmallest([30_000]),
    });
    return reply.result;
  } finally {
    release();
  }
}

export const context = { runId: 'bench', executionId: 'bench', workingDir: '/' };
