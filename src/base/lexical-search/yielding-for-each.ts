import { setImmediate as nextTurn } from 'node:timers/promises';

/** Max time that work blocks the event loop, in milliseconds. */
const turnMs = 4;

/** Works through many items; yields to the event loop every few milliseconds. */
export async function yieldingForEach<T>(
  items: Iterable<T>,
  work: (item: T, index: number) => void,
): Promise<void> {
  let index = 0;
  let until = performance.now() + turnMs;
  for (const item of items) {
    work(item, index++);
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + turnMs;
  }
}
