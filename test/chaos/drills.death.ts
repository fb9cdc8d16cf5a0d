import { until } from '../support/wait.js';
import type { Arena, Noted } from './arena.js';
import type { Drill } from './drill.js';
import type { Ending } from './fault.js';
import { endingOf } from './gateway.js';
import { type Lane, ownLane } from './lanes.js';
import type { Random } from './random.js';
import type { Step } from './steps.js';

const together = 4;
const orphaned = ownLane('chaos_spawner_kill', together);
const bereft = ownLane('chaos_gateway_kill', together);

/** What tools do while they lose whoever started them. */
const stubborn: readonly (readonly Step[])[] = [
  [{ do: 'sleep', ms: 3_000 }, { do: 'reply' }],
  [{ do: 'ignoreTerm' }, { do: 'hang' }],
  [{ do: 'spin' }],
  [{ do: 'grandchild', ignoreTerm: true, holdPipes: true }, { do: 'hang' }],
  [{ do: 'grandchild', setsid: true, ignoreTerm: true }, { do: 'hang' }],
];

/** Calls that their tools work on. */
interface InFlight {
  /** How each ends; undefined when nobody answers. */
  readonly calls: readonly Promise<Ending | undefined>[];
  readonly noted: readonly Noted[];
}

async function inFlight(arena: Arena, random: Random, lane: Lane): Promise<InFlight> {
  const faults = Array.from({ length: together }, (_, n) => `${lane.name}-${n}`);
  const calls = faults.map((fault) => {
    const script = random.of(stubborn);
    return arena
      .call(lane.name, { nonce: arena.nonce(), fault, script }, 4_000)
      .then(endingOf, () => undefined);
  });
  const arrived = (): boolean => faults.every((fault) => arena.noted(fault).length > 0);
  await until(arrived, { what: 'the calls to run' });
  const noted = faults.flatMap((fault) => arena.noted(fault));
  for (const fault of faults) arena.forget(fault);
  return { calls, noted };
}

export const deathDrills: readonly Drill[] = [
  {
    name: 'spawner_kill',
    count: 100,
    alone: true,
    needsSpawner: true,
    prepare: (arena) => arena.register(orphaned),
    run: async (arena, random, wrong) => {
      const spawner = arena.gateway.spawnerPid;
      if (spawner === undefined) return wrong('the gateway has no spawner');
      const { calls, noted } = await inFlight(arena, random, orphaned);
      process.kill(spawner, 'SIGKILL');
      const allowed: readonly (Ending | undefined)[] = ['success', 'timeout', 'tool_crashed'];
      const began = performance.now();
      for (const ending of await Promise.all(calls)) {
        if (!allowed.includes(ending)) wrong(`a call in flight ended as ${ending}`);
      }
      const took = performance.now() - began;
      if (took > 4_000 + arena.slackMs) wrong(`the calls in flight took ${took.toFixed(0)} ms`);
      const next = await arena.honest(orphaned.name);
      wrong(next && `the next call ${next}`);
      for (const { pid, role } of await arena.survivors(noted)) wrong(`process ${pid} (${role}) lives on`);
      const replaced = (): boolean => ![undefined, spawner].includes(arena.gateway.spawnerPid);
      await until(replaced, { what: 'another spawner' }).catch((error: Error) => wrong(error.message));
      wrong(await arena.descriptorsBack());
    },
  },
  {
    name: 'gateway_kill',
    count: 20,
    alone: true,
    needsSpawner: true,
    prepare: (arena) => arena.register(bereft),
    run: async (arena, random, wrong) => {
      const { calls } = await inFlight(arena, random, bereft);
      await arena.gateway.end('SIGKILL');
      await Promise.all(calls);
      const left = await arena.leftovers();
      if (left.length > 0) wrong(`${left.length} processes outlive the gateway: ${left.join(', ')}`);
      for (const pid of left) process.kill(pid, 'SIGKILL');
      await arena.open();
      const next = await arena.honest(bereft.name);
      wrong(next && `the next call ${next}`);
    },
  },
];
