import { gzipSync } from 'node:zlib';
import { Random } from '../chaos/random.js';
import { Lab } from './lab.js';
import { residentMb } from './resident.js';
import { spanCases, type SpanCase } from './span-shapes.js';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_124);
const cases = Number(process.env['FUZZ_CASES'] ?? 250);
const maxBlockMs = 100;
const maxWaitMs = 2_000;
const maxGrowthMb = 150;

const lab = new Lab();
const endings = new Map<number, number>();

/** While a batch is read, another sender's small one is answered. */
async function smallBatchMs(): Promise<number> {
  const began = performance.now();
  await lab.gateway.send('/v1/traces', 'application/json', Buffer.from('{"resourceSpans":[]}'));
  return performance.now() - began;
}

interface Seen {
  readonly what: string;
  readonly blockMs: number;
  readonly waitMs: number;
}

async function tryOne({ what, type, body }: SpanCase): Promise<Seen> {
  const packed = gzipSync(body());
  const began = Date.now();
  const answer = lab.gateway.send('/v1/traces', type, packed, { 'content-encoding': 'gzip' });
  const waitMs = await smallBatchMs();
  const status = await answer;
  endings.set(status, (endings.get(status) ?? 0) + 1);
  const blocks = await lab.blocksSince(began);
  return { what, waitMs, blockMs: Math.max(0, ...blocks.map(({ ms }) => ms)) };
}

describe(`batches of spans that were made to cost much (FUZZ_SEED=${seed})`, () => {
  beforeAll(() => lab.start());
  afterAll(() => lab.end());

  it('hold up nobody, and take no more memory than their bytes', async () => {
    const all = spanCases(new Random(seed), cases);
    // The threads, the pools and V8's heaps grow to what ordinary batches take.
    const ordinary = all.filter(({ what }) => /^\w+: spans 1000$/.test(what));
    expect(ordinary).not.toEqual([]);
    for (let round = 0; round < 50; round += 1) for (const each of ordinary) await tryOne(each);
    const before = residentMb(lab.gateway.pid);
    let peak = before;
    const timer = setInterval(() => (peak = Math.max(peak, residentMb(lab.gateway.pid))), 50);
    const seen: Seen[] = [];
    for (const each of all) {
      const from = peak;
      const one = await tryOne(each);
      seen.push(one);
      if (peak > from + 50) process.stdout.write(`resident ${peak.toFixed(0)} MB with ${each.what}\n`);
    }
    clearInterval(timer);
    const worst = seen.toSorted((a, b) => b.waitMs - a.waitMs).slice(0, 5);
    process.stdout.write(
      `${all.length} batches: ${[...endings].map(([status, n]) => `${status}: ${n}`).join(', ')}; resident ${before.toFixed(0)} -> ` +
        `${peak.toFixed(0)} MB; longest waits ${worst.map(({ what, waitMs }) => `${waitMs.toFixed(0)} ms (${what})`).join('; ')}\n`,
    );
    expect(seen.filter(({ blockMs }) => blockMs > maxBlockMs)).toEqual([]);
    expect(seen.filter(({ waitMs }) => waitMs > maxWaitMs)).toEqual([]);
    expect([...endings.keys()].filter((status) => status === 500)).toEqual([]);
    expect(peak - before).toBeLessThan(maxGrowthMb);
  }, 3_600_000);
});
