import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Problem } from '../../../common/errors.js';
import { projectRoot } from '../../../config/app-config.js';
import type { YamlAnswer } from './yaml.worker.js';

const script = join(projectRoot(), 'dist', 'src', 'playbook-search', 'catalogue', 'import', 'yaml.worker.js');
/** A thousand playbooks take one or two. A text that is made to take long (40,000 keys in one map) takes minutes. */
const patienceMs = 10_000;
const heapMb = 512;

/**
 * Reads YAML in a thread of its own, which ends with it: nothing else waits for it, however it is nested.
 * @throws Problem `invalid_request` when it cannot be read, or not in time
 */
export async function readYaml(text: string, withinMs = patienceMs): Promise<unknown> {
  const worker = new Worker(script, {
    name: 'yaml',
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  const answered = new Promise<YamlAnswer>((resolve) => {
    worker.once('message', resolve);
    worker.once('error', ({ message }: Error) => resolve({ error: message }));
    worker.once('exit', () => resolve({ error: 'its reader ended' }));
    setTimeout(() => resolve({ error: `it takes longer than ${withinMs} ms` }), withinMs).unref();
  });
  try {
    const answer = await answered;
    if ('json' in answer) return JSON.parse(answer.json) as unknown;
    const detail = `The YAML cannot be read: ${answer.error}`;
    throw new Problem('invalid_request', detail, { errors: [{ pointer: '', detail }] });
  } finally {
    await worker.terminate();
  }
}
