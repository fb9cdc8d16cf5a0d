import { setTimeout as delay } from 'node:timers/promises';
import { Arena } from './arena.js';
import type { MemorySample } from './gateway.js';
import { type Lane, ownLane } from './lanes.js';
import { type Point, trendOf } from './trend.js';

const minutes = Number(process.env['SOAK_MINUTES'] ?? 20);
const rate = Number(process.env['SOAK_RATE'] ?? 200);
const sampleEveryMs = 10_000;
/** Bytes of resident memory that ten minutes may add. */
const maxBytesPerTenMinutes = 1_000_000;
/** Calls of each tool at once, at the beginning: more than a stall of seconds brings together. */
const burst = 800;
/** Descriptors by which the last quarter's usual count may differ from the first quarter's. */
const maxDescriptors = 2;

/** One tool, and its share of the calls at a moment. */
interface Load {
  readonly lane: Lane;
  readonly share: (seconds: number) => number;
}

const oneShot: Lane = {
  ...ownLane('soak_one_shot'),
  settings: { keepAlive: false, poolSize: 4 },
  oneShot: true,
  maxProcesses: 5 + 4,
};

const turnSeconds = 330;

/**
 * One is called all the time; two take turns that are longer than a process may be idle, so that those of the other one
 * end; some calls get fresh ones.
 */
const loads: readonly Load[] = [
  { lane: ownLane('soak_steady'), share: () => 0.5 },
  {
    lane: ownLane('soak_even', 4),
    share: (seconds) => (Math.floor(seconds / turnSeconds) % 2 === 0 ? 0.48 : 0),
  },
  {
    lane: ownLane('soak_odd', 4),
    share: (seconds) => (Math.floor(seconds / turnSeconds) % 2 === 1 ? 0.48 : 0),
  },
  { lane: oneShot, share: () => 0.02 },
];

const variables = {
  CUSTOM_TOOLS_MAX_QUEUE: '1000',
};

const inMb = (bytes: number): string => (bytes / 1_000_000).toFixed(1).padStart(6);

/** What memory consists of, in the middle of each quarter of the time: tells what grows, if anything does. */
function quartersOf(samples: readonly MemorySample[]): string[] {
  const size = Math.floor(samples.length / 4);
  return [0, 1, 2, 3].map((at) => {
    const quarter = samples.slice(at * size, (at + 1) * size);
    const middle = (pick: (sample: MemorySample) => number): string => {
      const sorted = quarter.map(pick).sort((a, b) => a - b);
      return inMb(sorted[Math.floor(sorted.length / 2)] ?? NaN);
    };
    return (
      `quarter ${at + 1}, MB: resident ${middle(({ rss }) => rss)}, heap ${middle(({ heapUsed }) => heapUsed)}, ` +
      `heaps of threads ${middle(({ inThreads }) => inThreads)}, buffers ${middle(({ external }) => external)}`
    );
  });
}

/** What a soak counts; memory in bytes and descriptors beyond those of living processes over minutes. */
class Soak {
  readonly memory: Point[] = [];
  readonly samples: MemorySample[] = [];
  readonly descriptors: Point[] = [];
  readonly lost: string[] = [];
  answered = 0;
  private readonly pids = new Set<number>();
  private readonly open = new Set<Promise<void>>();
  private readonly began = performance.now();

  constructor(private readonly arena: Arena) {}

  get processes(): number {
    return this.pids.size;
  }

  /**
   * Begins with a burst: neither malloc nor the engine gives back all that a moment of many calls took, and such a moment
   * comes by itself whenever the machine stands still. What grows after it is a leak.
   */
  async run(): Promise<void> {
    const sampler = this.sampleUntilEnd();
    for (const { lane } of loads) if (!lane.oneShot) for (let n = 0; n < burst; n++) this.call(lane.name);
    await Promise.all(this.open);
    const due = new Map(loads.map(({ lane }) => [lane.name, 0]));
    for (let before = this.seconds; before < minutes * 60;) {
      await delay(5);
      const now = this.seconds;
      for (const { lane, share } of loads) {
        const owed = (due.get(lane.name) ?? 0) + rate * share(now) * (now - before);
        for (let n = 0; n < Math.floor(owed); n++) this.call(lane.name);
        due.set(lane.name, owed % 1);
      }
      before = now;
    }
    await Promise.all(this.open);
    await sampler;
  }

  private call(tool: string): void {
    const call = this.arena
      .honest(tool)
      .catch((error: unknown) => `was not answered: ${String((error as Error).cause ?? error)}`)
      .then((wrong) => {
        if (wrong === undefined) this.answered++;
        else this.lost.push(`${tool} ${wrong}`);
        this.open.delete(call);
      });
    this.open.add(call);
  }

  private async sampleUntilEnd(): Promise<void> {
    for (let at = sampleEveryMs / 1_000; at < minutes * 60; at += sampleEveryMs / 1_000) {
      await delay(Math.max(0, (at - this.seconds) * 1_000));
      const x = this.seconds / 60;
      const sample = await this.arena.gateway.memory();
      const { living, beyond } = this.arena.holdings();
      for (const pid of living) this.pids.add(pid);
      this.samples.push(sample);
      this.memory.push({ x, y: sample.rss });
      this.descriptors.push({ x, y: beyond });
    }
  }

  private get seconds(): number {
    return (performance.now() - this.began) / 1_000;
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const median = (points: readonly Point[]): number =>
  points.map(({ y }) => y).sort((a, b) => a - b)[Math.floor(points.length / 2)] ?? 0;

const arena = new Arena(variables);
try {
  await arena.open();
  for (const { lane } of loads) await arena.register(lane);
  const soak = new Soak(arena);
  say(`soak: ${minutes} minutes at ${rate} calls/s`);
  await soak.run();
  for (const { lane } of loads) await arena.gateway.request('DELETE', `custom-tools/${lane.name}`);
  const orphans = await arena.leftovers();
  report(soak, orphans);
} finally {
  await arena.close();
}

function report(
  { memory, samples, descriptors, lost, answered, processes }: Soak,
  orphans: readonly number[],
): void {
  for (const each of new Set(lost.slice(0, 20))) say(`  lost: ${each}`);
  // The first minutes fill caches and warm the compiler up.
  const trend = trendOf(memory.slice(Math.ceil(memory.length / 5)));
  const quarter = Math.ceil(descriptors.length / 4);
  const drift = median(descriptors.slice(-quarter)) - median(descriptors.slice(0, quarter));
  const mb = (bytes: number | undefined): string => (((bytes ?? NaN) * 10) / 1_000_000).toFixed(2);
  say(
    `soak: ${answered} calls, ${lost.length} lost, ${processes} processes seen, ${orphans.length} orphans, ` +
      `descriptors ${drift >= 0 ? '+' : ''}${drift}, resident memory ${mb(trend?.slope)} MB per 10 minutes ` +
      `(95 %: ${mb(trend?.low)} to ${mb(trend?.high)})`,
  );
  for (const quarter of quartersOf(samples)) say(`  ${quarter}`);
  const climbs = trend === undefined || trend.slope * 10 > maxBytesPerTenMinutes;
  const broken = lost.length > 0 || orphans.length > 0 || Math.abs(drift) > maxDescriptors || climbs;
  if (broken) process.exitCode = 1;
}
