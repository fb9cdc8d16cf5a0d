import { Random } from '../random.js';
import {
  crashDrain,
  type Finding,
  freezeDatabase,
  killGateway,
  restartDatabase,
  swallowCommits,
  terminateBackends,
} from './drills.js';
import { fillDisk } from './drills.journal.js';
import { isClean, lineOf } from './findings.js';

const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const only = (process.env['CHAOS_KINDS'] ?? '').split(',').filter(Boolean);
const random = new Random(seed);
const rate = 300;

const drills: Readonly<Record<string, () => Promise<Finding | undefined>>> = {
  kill: () => killGateway(random, 50, 200),
  kill_power: () => killGateway(random, 5, 200, { JOURNAL_DURABILITY: 'power' }),
  restart: () => restartDatabase(random, 30, rate),
  freeze_1: () => freezeDatabase(1, rate),
  freeze_5: () => freezeDatabase(5, rate),
  freeze_60: () => freezeDatabase(60, rate),
  terminate: () => terminateBackends(10, rate),
  cut_commit: () => swallowCommits(30),
  drain_death: () => crashDrain(10),
  full_disk: () => fillDisk(),
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const unknown = only.filter((name) => !(name in drills));
if (unknown.length > 0)
  throw new Error(`CHAOS_KINDS: ${unknown.join(', ')}; known are ${Object.keys(drills).join(', ')}`);
say(`chaos of the recording: CHAOS_SEED=${seed}`);
const began = Date.now();
for (const [name, drill] of Object.entries(drills)) {
  if (only.length > 0 && !only.includes(name)) continue;
  try {
    const finding = await drill();
    say(finding ? lineOf(finding) : `${name}: not run, nothing can be mounted here`);
    if (!finding || !isClean(finding)) process.exitCode = 1;
  } catch (error) {
    say(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = 1;
  }
}
say(`${((Date.now() - began) / 1_000).toFixed(0)} s; repeat with CHAOS_SEED=${seed}`);
