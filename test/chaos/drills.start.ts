import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '../../src/base/common/errors.js';
import { until } from '../support/wait.js';
import type { Arena } from './arena.js';
import { lowestFreeDescriptor } from './census.js';
import type { Drill } from './drill.js';
import type { Ending } from './fault.js';
import { endingOf, type Gateway } from './gateway.js';
import { type Lane, ownLane, toolFile } from './lanes.js';
import { realInterpreter } from './pulse.js';

const unstartable: readonly (Ending | undefined)[] = ['spawn_failed', 'tool_unavailable'];
/** Long enough for the pause before the next start. */
const recoveryMs = 20_000;

/** A way to make every start of a tool fail, and to undo it. */
interface Sabotage {
  readonly name: string;
  readonly count: number;
  readonly alone?: boolean;
  readonly begin: (arena: Arena, file: string) => void;
  readonly end: (arena: Arena, file: string) => void;
}

const sabotages: readonly Sabotage[] = [
  {
    name: 'crash_loop',
    count: 100,
    begin: (_arena, file) => writeFileSync(`${file}.mode`, 'crash'),
    end: (_arena, file) => rmSync(`${file}.mode`),
  },
  {
    name: 'enoent',
    count: 100,
    begin: (_arena, file) => renameSync(file, `${file}.away`),
    end: (_arena, file) => renameSync(`${file}.away`, file),
  },
  {
    name: 'eacces',
    count: 100,
    begin: (_arena, file) => chmodSync(file, 0o644),
    end: (_arena, file) => chmodSync(file, 0o755),
  },
  {
    name: 'emfile',
    count: 100,
    alone: true,
    begin: ({ gateway }) => {
      for (const pid of starters(gateway)) limitDescriptors(pid, lowestFreeDescriptor(pid));
    },
    end: ({ gateway }) => {
      for (const pid of starters(gateway)) limitDescriptors(pid, 20_000);
    },
  },
];

export const startDrills: readonly Drill[] = sabotages.map((sabotage) => startDrill(sabotage));

function startDrill({ name, count, alone, begin, end }: Sabotage): Drill {
  const lane = ownLane(`chaos_${name}`, 1);
  const fileIn = (arena: Arena): string => join(arena.copies, `${name}-tool`);
  return {
    name,
    count,
    ...(alone && { alone }),
    prepare: async (arena) => {
      const file = fileIn(arena);
      writeFileSync(file, withInterpreter(readFileSync(toolFile, 'utf8')), { mode: 0o755 });
      await arena.register(lane, { command: file, args: [], env: { CHAOS_MODE: `${file}.mode` } });
    },
    run: async (arena, random, wrong) => {
      const file = fileIn(arena);
      wrong(await arena.honest(lane.name));
      const fault = `${name}-${arena.nonce().split('-')[0]}`;
      const script = [{ do: 'exit', code: 1 } as const];
      const last = await arena.call(lane.name, { nonce: arena.nonce(), fault, script });
      if (endingOf(last) !== 'tool_crashed') wrong(`its last process ended as ${endingOf(last)}`);
      for (const { pid } of await arena.survivors(arena.noted(fault))) wrong(`process ${pid} lives on`);
      begin(arena, file);
      try {
        for (let n = random.between(1, 4); n > 0; n--) wrong(await refused(arena, lane));
      } finally {
        end(arena, file);
      }
      wrong(await recovered(arena, lane));
      arena.forget(fault);
      wrong(await arena.tooMany(lane));
      wrong(await arena.descriptorsBack());
    },
  };
}

async function refused(arena: Arena, lane: Lane): Promise<string | undefined> {
  const answer = await arena.call(lane.name, { nonce: arena.nonce() });
  const ending = endingOf(answer);
  if (!unstartable.includes(ending))
    return `a call meanwhile ended as ${ending}: ${JSON.stringify(answer.body)}`;
  if (answer.status !== errorTable[ending as 'spawn_failed'].http)
    return `${ending} with HTTP ${answer.status}`;
  if (answer.tookMs > arena.slackMs) return `a call meanwhile took ${answer.tookMs.toFixed(0)} ms`;
  return undefined;
}

/** Calls are refused at once until the pool's next start is due; then they work, without anybody's help. */
async function recovered(arena: Arena, lane: Lane): Promise<string | undefined> {
  let wrong: string | undefined;
  const works = async (): Promise<boolean> => {
    const nonce = arena.nonce();
    const answer = await arena.call(lane.name, { nonce });
    const ending = endingOf(answer);
    if (ending !== 'success' && !unstartable.includes(ending)) wrong = `a call afterwards ended as ${ending}`;
    if (answer.tookMs > arena.slackMs) wrong = `a call afterwards took ${answer.tookMs.toFixed(0)} ms`;
    return ending === 'success' || wrong !== undefined;
  };
  await until(works, { timeoutMs: recoveryMs, what: 'the tool to recover' }).catch((error: Error) => {
    wrong ??= error.message;
  });
  return wrong;
}

/** The gateway, and what starts processes for it. */
function starters({ pid, spawnerPid }: Gateway): number[] {
  return [pid, ...(spawnerPid === undefined ? [] : [spawnerPid])];
}

function limitDescriptors(pid: number, most: number): void {
  execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${most}:`]);
}

function withInterpreter(source: string): string {
  return source.replace(/^#!.*/, `#!${realInterpreter()}`);
}
