import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../chaos/random.js';
import { fixtures } from '../support/app.js';
import { type LlmServer, startLlmServer } from '../support/llm-endpoint.js';
import { makeTestFolder } from '../support/test-folder.js';
import { formerWays } from './former-ways.js';
import { Lab } from './lab.js';
import { requestCases, type RequestCase, results } from './request-shapes.js';
import { residentMb } from './resident.js';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_126);
const cases = Number(process.env['FUZZ_CASES'] ?? 750);
const mostCpuMs = 100;
const mostGrowthMb = 150;
const formerCpuMs = 250;

let llm: LlmServer;
let lab: Lab;
let experiment: string;
const endings = new Map<number, number>();

/** Processor time that the main thread of the server has had. */
const spentMs = (): number =>
  Number(readFileSync(`/proc/${lab.gateway.pid}/task/${lab.gateway.pid}/schedstat`, 'utf8').split(' ')[0]) /
  1e6;

const asked = async (method: string, path: string, body?: unknown): Promise<number> => {
  // The connection of a body over the cap is closed while it is sent.
  const answer = lab.gateway.request(method, path, body, 60_000).catch(() => ({ status: 413 }));
  const { status } = await answer;
  endings.set(status, (endings.get(status) ?? 0) + 1);
  return status;
};

/** @returns the main thread's time, in ms */
async function costOf({ send: [method, path, body] }: RequestCase): Promise<number> {
  const [route = '', isRun] = path.replace('EXPERIMENT', experiment).split('?run');
  const sent = body();
  const before = spentMs();
  const status = await asked(method, route, sent);
  if (isRun !== undefined && status === 200) await asked('POST', `${route}/run`);
  return spentMs() - before;
}

async function register(name: string, args: readonly string[], settings: object = {}): Promise<void> {
  const tool = {
    name,
    command: 'python3',
    args: ['-I', '-S', ...args],
    description: name,
    keepAlive: true,
    ...settings,
  };
  expect(await lab.gateway.request('POST', 'custom-tools', tool)).toMatchObject({ status: 201 });
}

describe(`requests and results that were made to cost much (FUZZ_SEED=${seed})`, () => {
  beforeAll(async () => {
    llm = await startLlmServer();
    lab = new Lab({ LLM_BASE_URL: llm.url, LLM_MODEL: 'm' });
    await lab.start();
    const echo = join(fixtures, 'echo.py');
    const folder = makeTestFolder();
    for (const { file, text } of results) writeFileSync(join(folder, file), text());
    await register('fuzz_echo', [echo]);
    await register('fuzz_other', [echo]);
    await register('fuzz_strict', [echo], {
      inputSchema: {
        type: 'object',
        properties: { value: { type: ['object', 'array', 'string'], maxLength: 5_000_000 } },
        additionalProperties: false,
      },
    });
    await register('fuzz_result', [join(fixtures, 'answers.py'), folder]);
    const request = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
    const made = await lab.gateway.request('POST', 'experiments', {
      name: 'fuzz',
      original_request: request,
    });
    experiment = made.body.id as string;
  });
  afterAll(async () => {
    await lab.end();
    await llm.close();
  });

  it('took more than a quarter of a second once, some of them', () => {
    const slow = Object.entries(formerWays).flatMap(([what, run]) => {
      const before = process.threadCpuUsage();
      try {
        run();
      } catch {
        // A value that is too deep has cost what it has cost.
      }
      const { user, system } = process.threadCpuUsage(before);
      const ms = (user + system) / 1_000;
      return ms > formerCpuMs ? [`${what} ${ms.toFixed(0)} ms`] : [];
    });
    process.stdout.write(`formerly over ${formerCpuMs} ms: ${slow.length} (${slow.join('; ')})\n`);
    expect(slow.length).toBeGreaterThanOrEqual(5);
  }, 600_000);

  it('cost the main thread little, and leave no memory behind', async () => {
    const all = requestCases(new Random(seed), cases);
    // Threads and heaps grow to what ordinary rows take, in requests and results as large as they may be.
    for (const each of all.filter(({ what }) => /: the same names in rows, (10|36)00000/.test(what)))
      for (let n = 0; n < 3; n++) await costOf(each);
    const before = residentMb(lab.gateway.pid);
    let peak = before;
    const timer = setInterval(() => (peak = Math.max(peak, residentMb(lab.gateway.pid))), 50);
    const seen: { what: string; ms: number }[] = [];
    for (const each of all) {
      const from = peak;
      seen.push({ what: each.what, ms: await costOf(each) });
      if (peak > from + 50) process.stdout.write(`resident ${peak.toFixed(0)} MB with ${each.what}\n`);
    }
    clearInterval(timer);
    const over = seen.filter(({ ms }) => ms > mostCpuMs);
    const findings: { what: string; ms: number }[] = [];
    // A collection of garbage that others left is not the request's: the least of three tries counts.
    for (const { what, ms } of over) {
      const again = all.find((each) => each.what === what) as RequestCase;
      const least = Math.min(ms, await costOf(again), await costOf(again));
      if (least > mostCpuMs) findings.push({ what, ms: Math.round(least) });
    }
    const worst = seen.toSorted((a, b) => b.ms - a.ms).slice(0, 8);
    process.stdout.write(
      `${all.length} requests: ${[...endings].map(([status, n]) => `${status}: ${n}`).join(', ')}; resident ${before.toFixed(0)} -> ` +
        `${peak.toFixed(0)} MB; dearest ${worst.map(({ what, ms }) => `${ms.toFixed(0)} ms (${what})`).join('; ')}\n`,
    );
    expect(findings).toEqual([]);
    expect([...endings.keys()].filter((status) => status === 500)).toEqual([]);
    expect(peak - before).toBeLessThan(mostGrowthMb);
    expect(await lab.gateway.request('GET', 'tools')).toMatchObject({ status: 200 });
  }, 3_600_000);
});
