/** The program of a `WorkerProcess`: relays messages between the owner process and a worker thread, and ends with either. */
import { Worker } from 'node:worker_threads';
import { type HostedWorker, tooLargeExit } from './worker-process.js';

const send = (message: object): boolean | undefined => process.send?.(message);

/** Interval of checks of the process's memory. Decompression may fill some 500 MB a second. */
const memoryCheckMs = 50;

process.once('message', ({ script, processMb, ...options }: HostedWorker) => {
  const worker = new Worker(new URL(script), options);
  worker.on('message', (message: unknown) => send({ message }));
  worker.on('error', ({ message, code }: NodeJS.ErrnoException) => send({ error: { message, code } }));
  // The channel closes after the messages that were sent before.
  worker.on('exit', () => process.disconnect());
  process.on('message', (message) => worker.postMessage(message));
  if (processMb === undefined) return;
  setInterval(() => {
    if (process.memoryUsage.rss() > processMb * 1_048_576) process.exit(tooLargeExit);
  }, memoryCheckMs);
});
// This thread is never busy, so it notices the end of its owner at once even if the worker is blocked.
process.on('disconnect', () => process.exit());
// A signal to the process group is meant for the owner, which still needs its workers while it stops.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
