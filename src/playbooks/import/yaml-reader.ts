import { Problem } from '../../common/errors.js';
import { WorkerCalls } from '../../common/worker-calls.js';

/** A thousand playbooks take one or two. A text that is made to take long (40,000 keys in one map) takes minutes. */
const patienceMs = 10_000;
const heapMb = 512;

/**
 * Reads YAML in a thread of its own, which ends with it: nothing else waits for it, however it is nested.
 * @throws Problem `invalid_request` when it cannot be read, or not in time
 */
export async function readYaml(text: string, withinMs = patienceMs): Promise<unknown> {
  const reader = new WorkerCalls<string, string>(new URL('./yaml.worker.js', import.meta.url), {
    name: 'YAML',
    heapMb,
    timeLimitMs: withinMs,
  });
  try {
    return JSON.parse(await reader.call(text)) as unknown;
  } catch (error) {
    const detail = `The YAML cannot be read: ${(error as Error).message.split('\n')[0]}`;
    throw new Problem('invalid_request', detail, { errors: [{ pointer: '', detail }] });
  } finally {
    await reader.stop();
  }
}
