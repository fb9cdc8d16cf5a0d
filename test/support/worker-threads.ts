import { join } from 'node:path';
// Not `node:worker_threads`, which jest maps to this file.
import { Worker as NodeWorker, type WorkerOptions } from 'worker_threads';

export * from 'worker_threads';

/** Jest's hooks do not reach into threads: this one brings its own, so that it runs the TypeScript of the sources. */
export class Worker extends NodeWorker {
  constructor(script: string | URL, options?: WorkerOptions) {
    super(script, { ...options, execArgv: ['--import', join(__dirname, 'typescript.mjs')] });
  }
}
