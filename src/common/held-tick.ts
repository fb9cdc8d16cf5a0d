import { createHook } from 'node:async_hooks';

/**
 * One of the objects that `process.nextTick` makes for its callbacks. While none is alive, a garbage collection drops
 * their hidden class; from then on the engine makes every one by its slowest path, at several times the cost, six times
 * a request (docs/performance.md). Held for as long as the process lives, this one keeps the class alive.
 */
export const heldTick = tickToHold();

function tickToHold(): object | undefined {
  let tick: object | undefined;
  const hook = createHook({
    init: (_id, type, _trigger, resource) => {
      if (type === 'TickObject') tick = resource;
    },
  }).enable();
  process.nextTick(() => undefined);
  hook.disable();
  return tick;
}
