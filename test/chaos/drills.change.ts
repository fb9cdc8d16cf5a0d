import type { Arena } from './arena.js';
import type { Drill } from './drill.js';
import { type Answer, endingOf } from './gateway.js';
import { type Lane, ownLane } from './lanes.js';
import type { Random } from './random.js';

/** A call that works for a while, and what is wrong with its answer. */
interface Flight {
  readonly wrong: Promise<string | undefined>;
  /** CHAOS_EPOCH of the process that answered. */
  readonly epoch: Promise<string | undefined>;
}

function fly(arena: Arena, { name }: Lane, workMs: number): Flight {
  const nonce = arena.nonce();
  const script = [{ do: 'sleep', ms: workMs } as const, { do: 'reply' } as const];
  const answer = arena.call(name, { nonce, script });
  return {
    wrong: answer.then(
      (each) => whatIsWrong(each, nonce),
      (error: unknown) => `was not answered: ${String(error)}`,
    ),
    epoch: answer.then(
      ({ body }) => body?.result?.epoch as string | undefined,
      () => undefined,
    ),
  };
}

function whatIsWrong(answer: Answer, nonce: string): string | undefined {
  const ending = endingOf(answer);
  if (ending !== 'success') return `a call in flight ended as ${ending}: ${JSON.stringify(answer.body)}`;
  return answer.body.result.nonce === nonce ? undefined : `got ${JSON.stringify(answer.body.result)}`;
}

const launch = (arena: Arena, lane: Lane, random: Random, calls: number): Flight[] =>
  Array.from({ length: calls }, () => fly(arena, lane, random.between(20, 200)));

async function judge(flights: readonly Flight[], wrong: (what: string | undefined) => void): Promise<void> {
  for (const flight of flights) wrong(await flight.wrong);
}

async function change(arena: Arena, lane: Lane, members: object): Promise<string | undefined> {
  const { status, body } = await arena.gateway.request('PATCH', `custom-tools/${lane.name}`, members);
  return status === 200 ? undefined : `PATCH answered ${status}: ${JSON.stringify(body)}`;
}

/** The processes of what was replaced end; the next call works; nothing is left open. */
async function aftermath(arena: Arena, lane: Lane, wrong: (what: string | undefined) => void): Promise<void> {
  const failure = await arena.honest(lane.name);
  wrong(failure && `the next call ${failure}`);
  wrong(await arena.tooMany(lane));
  wrong(await arena.descriptorsBack());
}

const patched = ownLane('chaos_patch');
const rotated = ownLane('chaos_rotate');
const deleted = ownLane('chaos_delete');

export const changeDrills: readonly Drill[] = [
  {
    name: 'patch_in_flight',
    count: 100,
    prepare: (arena) => arena.register(patched),
    run: async (arena, random, wrong) => {
      const before = launch(arena, patched, random, 3);
      const members = random.of([
        { timeoutMs: random.between(10_000, 60_000) },
        { poolSize: random.between(1, 2) },
        { maxConcurrency: 1, description: `Changed ${random.next()}` },
        { keepAlive: true, tags: [String(random.next())] },
      ]);
      const patch = change(arena, patched, members);
      const meanwhile = launch(arena, patched, random, 3);
      wrong(await patch);
      await judge([...before, ...meanwhile, ...launch(arena, patched, random, 2)], wrong);
      await aftermath(arena, patched, wrong);
    },
  },
  {
    // The value of a variable is replaced: who is answered afterwards sees the new one.
    name: 'rotate_in_flight',
    count: 100,
    prepare: (arena) => arena.register(rotated, { env: { CHAOS_EPOCH: 'first' } }),
    run: async (arena, random, wrong) => {
      const before = launch(arena, rotated, random, 3);
      const epoch = String(random.next());
      wrong(
        await change(arena, rotated, { env: arena.environment(rotated, { env: { CHAOS_EPOCH: epoch } }) }),
      );
      const afterwards = launch(arena, rotated, random, 3);
      await judge([...before, ...afterwards], wrong);
      for (const flight of afterwards) {
        const seen = await flight.epoch;
        if (seen !== undefined && seen !== epoch) wrong(`a call after the change saw ${seen}, not ${epoch}`);
      }
      await aftermath(arena, rotated, wrong);
    },
  },
  {
    name: 'delete_in_flight',
    count: 100,
    prepare: (arena) => arena.register(deleted),
    run: async (arena, random, wrong) => {
      const calls = random.between(1, 5);
      const noted = Array.from({ length: calls }, () => fly(arena, deleted, random.between(300, 500)));
      // Connections are served in no order: all of them must have been admitted before the tool goes.
      await arena.admitted(
        deleted.name,
        noted.map((flight) => flight.wrong),
      );
      const { status } = await arena.gateway.request('DELETE', `custom-tools/${deleted.name}`);
      if (status !== 204) wrong(`DELETE answered ${status}`);
      const late = await arena.call(deleted.name, { nonce: arena.nonce() });
      if (endingOf(late) !== 'tool_not_found' || late.status !== 404)
        wrong(`a call after DELETE ended as ${endingOf(late)} (${late.status})`);
      await judge(noted, wrong);
      await arena.register(deleted);
      await aftermath(arena, deleted, wrong);
    },
  },
];
