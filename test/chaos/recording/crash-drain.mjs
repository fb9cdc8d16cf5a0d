/** Loaded into the gateway by tests: its journal's thread ends with an error whenever the file CHAOS_CRASH appears. */
import { existsSync, rmSync } from 'node:fs';
import { isMainThread, workerData } from 'node:worker_threads';

const file = process.env.CHAOS_CRASH;
if (file && !isMainThread && workerData?.drain) {
  setInterval(() => {
    if (!existsSync(file)) return;
    rmSync(file);
    throw new Error('crashed by a test');
  }, 5).unref();
}
