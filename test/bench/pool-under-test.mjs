/** The pool as the server builds it, over the server's own limits and launcher. */
import { Deadline } from '../../dist/src/base/common/deadline.js';
import { loadConfig } from '../../dist/src/base/config/app-config.js';
import { launch as launchDirectly } from '../../dist/src/runtime/process-pool/launcher.js';
import { ProcessPool } from '../../dist/src/runtime/process-pool/process-pool.js';
import { findSpawner, SpawnerClient } from '../../dist/src/runtime/process-pool/spawner-client.js';
import { StartSlots } from '../../dist/src/runtime/process-pool/start-slots.js';

const { customTools, toolInput, root } = loadConfig({});
const binary = findSpawner(root);
const spawner = binary && new SpawnerClient({ binary });
spawner?.start();

/** Starts processes as the server does. */
export const launch = spawner?.launch ?? launchDirectly;
export const closeLauncher = () => spawner?.close();

const slots = new StartSlots(customTools.maxProcesses, customTools.maxConcurrentStarts);

export function makePool(command, args, overrides = {}) {
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
    linesPerSecond: customTools.outputLinesPerSecond,
    maxPendingInputBytes: 4 * toolInput.maxBytes,
    stderrBytes: customTools.stderrBytes,
    maxFailedStarts: 3,
    ...overrides,
  };
  return new ProcessPool(settings, slots, launch);
}

/** One call as the door makes it: a place, a lease, the request, both given back. */
export async function poolCall(pool, input) {
  const slot = pool.admit();
  try {
    const { reply } = await slot.run({
      method: 'execute',
      params: (timeout) => ({ input, context: { ...context, timeout } }),
      deadline: Deadline.ofSmallest([30_000]),
    });
    return reply.result;
  } finally {
    slot.release();
  }
}

export const context = { runId: 'bench', executionId: 'bench', workingDir: '/' };
