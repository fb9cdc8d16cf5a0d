import { setTimeout as delay } from 'node:timers/promises';

/** Makes a number of calls a second, whether or not earlier calls were answered. @returns a function that stops and waits for all answers */
export function pace(perSecond: number, call: () => Promise<void>): () => Promise<void> {
  let [going, sent] = [true, 0];
  const calls: Promise<void>[] = [];
  const began = performance.now();
  const pacing = (async () => {
    while (going) {
      await delay(5);
      for (const due = ((performance.now() - began) * perSecond) / 1_000; sent < due; sent++)
        calls.push(call());
    }
  })();
  return async () => {
    going = false;
    await pacing;
    await Promise.all(calls);
  };
}
