/**
 * Loaded into the server beside its own code (`node --import`): appends a line to the file LOOP_PROBE for each time that
 * the event loop stood still, in milliseconds of the main thread's own processor time. Time in which the machine ran
 * something else does not count.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const tickMs = 2;
const worthTellingMs = 20;

const spentMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

function watch(file) {
  let at = performance.now();
  let spent = spentMs();
  setInterval(() => {
    const now = performance.now();
    const spentNow = spentMs();
    const ms = Math.min(now - at, spentNow - spent);
    if (ms > worthTellingMs) appendFileSync(file, `${JSON.stringify({ endedAt: Date.now(), ms })}\n`);
    at = performance.now();
    spent = spentMs();
  }, tickMs).unref();
}

if (isMainThread && process.env.LOOP_PROBE) watch(process.env.LOOP_PROBE);
