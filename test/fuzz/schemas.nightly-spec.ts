import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mapLimit } from '../support/map-limit.js';
import { commandLineOf } from '../../src/base/common/process-identity.js';
import { childrenOf } from '../support/processes.js';
import { until } from '../support/wait.js';
import { type Block, Lab } from './lab.js';
import { casesIn, type Group, groupsOf, largest } from './random-cases.js';
import type { Case } from './shapes.js';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_123);
const cases = 2_000;
/** Tried side by side: who has blocked is found out by trying the suspects again, alone. */
const lanes = 3;
const maxBlockMs = 50;
const schemasShareMs = 25;
const maxResidentMb = 1_000;
const maxHeapGrowth = 1.2;
/** The timers that tell of a block are late themselves. */
const slackMs = 200;

interface Tried extends Omit<Case, 'input'> {
  readonly input: () => unknown;
  readonly from: number;
  readonly to: number;
}

const lab = new Lab();
const tried: Tried[] = [];
const endings = new Map<string, number>();
let names = 0;

/** Registers the schema, calls the tool with each input, and removes it. */
async function tryAll({ what, schema, inputs }: Group): Promise<void> {
  const name = `fuzz_${++names}`;
  let from = Date.now();
  const note = (input: () => unknown = () => ({})) =>
    tried.push({ what, schema, input, from, to: Date.now() });
  const registered = await lab.register(name, schema);
  note(inputs[0]);
  count(`registration ${registered.status}`);
  if (registered.status !== 201) return;
  for (const input of inputs) {
    const value = input();
    from = Date.now();
    const { status } = await lab.call(name, value);
    note(input);
    count(`call ${status}`);
  }
  await lab.remove(name);
}

const count = (ending: string): unknown => endings.set(ending, (endings.get(ending) ?? 0) + 1);

/** The longest block of one case that is tried alone. */
async function blockOf({ what, schema, input }: Omit<Tried, 'from' | 'to'>): Promise<number> {
  const began = Date.now();
  await tryAll({ what, schema, inputs: [input] });
  return longest(await lab.blocksSince(began));
}

const longest = (blocks: readonly Block[]): number => Math.max(0, ...blocks.map(({ ms }) => ms));

/**
 * A block counts when each of three tries has it, and when the same input to a tool without a schema has none, or one
 * that is so much shorter: reading and writing a megabyte of JSON takes its time, too.
 */
async function blocksAlone(suspect: Tried): Promise<string | undefined> {
  let [least, without] = [Infinity, Infinity];
  for (let n = 0; n < 3 && least > maxBlockMs; n++) least = Math.min(least, await blockOf(suspect));
  if (least <= maxBlockMs) return undefined;
  for (let n = 0; n < 3 && without > maxBlockMs; n++)
    without = Math.min(without, await blockOf({ ...suspect, schema: {} }));
  const what = `${suspect.what}: ${least.toFixed(0)} ms, without a schema ${without.toFixed(0)} ms`;
  return least - without < schemasShareMs ? undefined : what;
}

/** Whether the former way takes more than a second of processor time, or dies. */
async function blockedFormerly({ schema, input }: Case): Promise<boolean> {
  const child = spawn(process.execPath, [join(__dirname, 'former-validator.mjs')], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  child.stdin.end(JSON.stringify({ schema, input }));
  await once(child.stdout, 'data');
  const before = processorMs(child.pid as number) ?? 0;
  const slow = until(
    () => {
      const now = processorMs(child.pid as number);
      return now === undefined ? 'ended' : now - before > 1_000 && 'slow';
    },
    { what: 'the former validator', timeoutMs: 300_000 },
  );
  const isSlow = (await slow) === 'slow';
  child.kill('SIGKILL');
  const [code] = await ended;
  return isSlow || code !== 0;
}

/** What a process has had of the processor; undefined when it has ended. */
function processorMs(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return fields[0] === 'Z' ? undefined : 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return undefined;
  }
}

const residentMb = (pid: number): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
};

interface Resident {
  readonly gateway: number;
  readonly withWorkers: number;
}

/** Looks at what the gateway takes, by itself and with the processes of its workers. @returns ends the look: the most of each, in MB */
function watchMemory(): () => Resident {
  let most: Resident = { gateway: 0, withWorkers: 0 };
  const timer = setInterval(() => {
    const { pid } = lab.gateway;
    const hosts = childrenOf(pid).filter((child) => commandLineOf(child).join(' ').includes('worker-host'));
    const gateway = residentMb(pid);
    const withWorkers = hosts.map(residentMb).reduce((sum, mb) => sum + mb, gateway);
    most = {
      gateway: Math.max(most.gateway, gateway),
      withWorkers: Math.max(most.withWorkers, withWorkers),
    };
  }, 200);
  return () => {
    clearInterval(timer);
    return most;
  };
}

describe(`schemas and inputs that were made to cost much (FUZZ_SEED=${seed})`, () => {
  beforeAll(() => lab.start());
  afterAll(() => lab.end());

  it('blocked for more than a second, one by one, as they were looked at once', async () => {
    const blocked: string[] = [];
    await mapLimit(largest(), 2, async (make) => {
      const each = make();
      if (await blockedFormerly(each)) blocked.push(each.what);
    });
    process.stdout.write(`formerly over a second: ${blocked.length} (${blocked.join('; ')})\n`);
    expect(blocked.length).toBeGreaterThanOrEqual(5);
  }, 1_200_000);

  it('hold up nobody, and leave no memory behind', async () => {
    const groups = groupsOf(seed, cases);
    expect(casesIn(groups)).toBeGreaterThanOrEqual(cases);
    const { pid } = lab.gateway;
    const began = Date.now();
    const peakMb = watchMemory();
    // V8's cache of compiled code fills with the first hundred tools: a quarter of all, of each size some.
    const warmUp = groups.filter((_, n) => n % 4 === 0);
    await mapLimit(warmUp, lanes, tryAll);
    const before = await lab.gateway.memory();
    await mapLimit(groups, lanes, tryAll);
    const after = await lab.gateway.memory();

    const over = lab.blocks().filter(({ endedAt, ms }) => endedAt > began && ms > maxBlockMs);
    const suspects = tried.filter(({ from, to }) =>
      over.some(({ endedAt }) => endedAt >= from && endedAt <= to + slackMs),
    );
    const peak = peakMb();
    const findings: string[] = [];
    for (const suspect of suspects) {
      const finding = await blocksAlone(suspect);
      if (finding) findings.push(finding);
    }

    const mb = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MB`;
    process.stdout.write(
      `${casesIn(groups)} cases: ${[...endings].map(([ending, n]) => `${ending}: ${n}`).join(', ')}; ` +
        `${over.length} blocks over ${maxBlockMs} ms with ${lanes} at once, ${suspects.length} suspects; ` +
        `heap ${mb(before.heapUsed)} -> ${mb(after.heapUsed)}, resident at most ${peak.gateway.toFixed(0)} MB, ${peak.withWorkers.toFixed(0)} MB with the processes of its workers\n`,
    );
    expect(findings).toEqual([]);
    expect([...endings.keys()].filter((ending) => / 5\d\d$/.test(ending))).toEqual([]);
    expect(after.heapUsed).toBeLessThan(maxHeapGrowth * before.heapUsed);
    expect(peak.gateway).toBeLessThan(maxResidentMb);
    expect(lab.gateway.pid).toBe(pid);
    expect((await lab.gateway.request('GET', 'tools')).status).toBe(200);
  }, 3_600_000);
});
