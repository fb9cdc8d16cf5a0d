import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cancellation } from '../../../base/common/cancellation.js';
import { PoolLab } from '../../../../test/fixtures/tools/pool-lab.js';
import { Deadline } from '../../../base/common/deadline.js';
import { noTracer } from '../../../base/observability/tracing/tracer.js';
import type { PoolSettings } from '../../process-pool/pool.types.js';
import type { ExecutionNotes, ToolAnnotations, ToolRun } from '../../../web/contract/tool.js';
import { Redactor } from '../../secrets/redactor.js';
import { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolWrapper } from './custom-tool-wrapper.js';

/** Appends a byte to the file for each call, then does what `then` says: the last of the list goes on for ever. */
const script = (then: string[]): string => `
  const fs = require('node:fs');
  const [file, ...acts] = ${JSON.stringify(['$FILE', ...then])};
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (method === 'initialize') return say({ id, result: {} });
    fs.appendFileSync(file, 'x');
    const act = acts[Math.min(fs.statSync(file).size, acts.length) - 1];
    if (act === 'crash') process.exit(9);
    if (act === 'malformed') say({ id });
    const nested = '['.repeat(50_000) + ']'.repeat(50_000);
    if (act === 'deep') process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":' + nested + '}\\n');
    if (act === 'deep error')
      process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"error":{"code":-32001,"message":"no","data":' + nested + '}}\\n');
    if (act === 'answer') say({ id, result: 'done' });
    if (act === 'error') say({ id, error: { code: -32001, message: 'no' } });
  });`;

let lab: PoolLab;
let folder: string;

beforeEach(() => {
  lab = new PoolLab();
  folder = mkdtempSync(join(tmpdir(), 'wrapper-'));
});
afterEach(async () => {
  await lab.close();
  rmSync(folder, { recursive: true });
});

interface Setup {
  readonly then: string[];
  readonly annotations?: Partial<ToolAnnotations>;
  readonly maxRetries?: number;
  readonly retryDelayMs?: number;
  readonly settings?: Partial<PoolSettings>;
}

const none: ToolAnnotations = { readOnly: false, idempotent: false, destructive: true, openWorld: true };
const effects = (): number => {
  const file = join(folder, 'effects');
  return existsSync(file) ? readFileSync(file).length : 0;
};

async function wrapper({ then, annotations, maxRetries = 3, retryDelayMs = 1, settings }: Setup) {
  const text = script(then).replace('$FILE', join(folder, 'effects'));
  const spec = lab.spec(['-e', text], process.execPath);
  const tool = Object.assign(new CustomTool(), {
    name: 'tried',
    annotations: { ...none, ...annotations },
    maxRetries,
    retryDelayMs,
    timeoutMs: 20_000,
    thresholds: null,
    fallback: null,
    callsPerInvestigation: null,
    cacheTtlMs: null,
    semanticErrors: 'show',
    capture: 'none',
  });
  const pool = await lab.warmPool({ spec, ...settings });
  const running = { revision: 1, processHash: '', contentHash: '', files: [], spec };
  return new CustomToolWrapper(
    tool,
    Object.assign(() => [], { schema: {}, warnings: [] }),
    {
      pool,
      workingDir: folder,
      realPath: process.execPath,
      confined: unconfined,
      redactor: new Redactor({}),
    },
    running,
    noTracer,
  );
}

const unconfined = {
  effective: { tier: 0, enforced: [], notEnforced: [], notes: {} },
  brokenRule: () => undefined,
  hint: () => undefined,
} as const;

async function run(setup: Setup, timeoutMs = 20_000, cancellation = new Cancellation()) {
  const tried = await wrapper(setup);
  const notes: ExecutionNotes = { attempts: 1 };
  const context = { userId: 'u', requestId: 'r', projectId: 'default' };
  const deadline = Deadline.ofSmallest([timeoutMs]);
  const principal = { userId: 'u', scopes: new Set<never>() };
  const toolRun: ToolRun = {
    executionId: 'e',
    context,
    principal,
    deadline,
    cancellation,
    probe: false,
    notes,
  };
  const outcome = await tried.run({}, toolRun).then(
    (result) => ({ result }),
    (error: unknown) => ({ error: error as Error }),
  );
  return { outcome, notes };
}

const unknown = 'The result is unknown: the tool may have done its work';

describe('a call that fails after it reached the tool', () => {
  it.each([
    ['crash', 'tool_crashed', /ended with exit code 9 before it answered/],
    ['malformed', 'protocol_error', /broke the protocol/],
  ])('is not run again, and says that its result is unknown: %s', async (act, type, message) => {
    const { outcome, notes } = await run({ then: [act] });
    expect(outcome).toMatchObject({ error: { type, message: expect.stringMatching(message) } });
    expect(outcome).toMatchObject({ error: { message: expect.stringContaining(unknown) } });
    expect(notes).toMatchObject({ attempts: 1, resultUnknown: true });
    expect(effects()).toBe(1);
  });

  it('past its deadline is not run again either', async () => {
    // Started before, so that the time is not spent on its start.
    const settings = { minProcesses: 1 };
    const { outcome, notes } = await run(
      { then: ['hang'], annotations: { idempotent: true }, settings },
      400,
    );
    expect(outcome).toMatchObject({
      error: {
        type: 'timeout',
        message: expect.stringMatching(/within 400 ms\. The result is unknown.*safe$/),
      },
    });
    expect(notes).toMatchObject({ attempts: 1, resultUnknown: true });
  });

  it('is run again when the tool is idempotent; the notes tell of the try that was answered', async () => {
    const { outcome, notes } = await run({
      then: ['crash', 'malformed', 'answer'],
      annotations: { idempotent: true },
    });
    expect(outcome).toEqual({ result: 'done' });
    expect(effects()).toBe(3);
    expect(notes.attempts).toBe(3);
    for (const name of ['exitCode', 'stderrTail', 'resultUnknown']) expect(notes).not.toHaveProperty(name);
  });

  it('is run maxRetries times more at most, then says that calling again is safe', async () => {
    const { outcome, notes } = await run({
      then: ['crash'],
      annotations: { idempotent: true },
      maxRetries: 2,
    });
    expect(outcome).toMatchObject({ error: { message: expect.stringMatching(/calling it again is safe$/) } });
    expect(effects()).toBe(3);
    expect(notes).toMatchObject({ attempts: 3, exitCode: 9, resultUnknown: true });
  });

  it('leaves nothing unknown where the tool only reads', async () => {
    const { outcome, notes } = await run({ then: ['crash'], annotations: { readOnly: true } });
    expect(outcome).toMatchObject({
      error: { message: 'The tool ended with exit code 9 before it answered' },
    });
    expect(notes).not.toHaveProperty('resultUnknown');
  });

  it('is not run again when the tool answered an error: that is an answer', async () => {
    const { outcome, notes } = await run({ then: ['error'], annotations: { idempotent: true } });
    expect(outcome).toMatchObject({ error: { type: 'tool_error', message: 'no' } });
    expect(notes).not.toHaveProperty('resultUnknown');
    expect(effects()).toBe(1);
  });

  it('ends with what is known when its caller leaves before the next try', async () => {
    const caller = new Cancellation();
    const setup = { then: ['crash'], annotations: { idempotent: true }, retryDelayMs: 10_000 };
    const running = run(setup, 20_000, caller);
    await lab.until('terminate');
    caller.cancel();
    const { outcome, notes } = await running;
    expect(outcome).toMatchObject({
      error: { type: 'cancelled', message: expect.stringContaining(unknown) },
    });
    expect(notes).toMatchObject({ attempts: 1, exitCode: 9, resultUnknown: true });
  });
});

it.each(['deep', 'deep error'])('an answer that could not be written down is none: %s', async (act) => {
  const { outcome } = await run({ then: [act] });
  const message = expect.stringContaining('its answer is nested deeper than 128 levels');
  expect(outcome).toMatchObject({ error: { type: 'protocol_error', message } });
  expect(effects()).toBe(1);
});

describe('a call of which nothing was written', () => {
  it('that times out while it waits for a process is no fault of the tool, one that was asked is', async () => {
    const starting = { spec: lab.spec(['--start=hang']) };
    const waited = await run({ then: [], settings: starting }, 50);
    expect(waited.outcome).toMatchObject({ error: { type: 'timeout', isToolFault: false } });
    const asked = await run({ then: ['hang'], settings: { minProcesses: 1 } }, 400);
    expect(asked.outcome).toMatchObject({ error: { type: 'timeout', isToolFault: true } });
  });

  const broken = { spec: { command: '/no/such/tool', args: [], cwd: '/', env: {} }, maxFailedStarts: 1 };

  it('is run again whatever the tool is, and leaves nothing unknown', async () => {
    const { outcome, notes } = await run({ then: [], settings: broken, maxRetries: 2 });
    expect(outcome).toMatchObject({
      error: { type: 'spawn_failed', isToolFault: true, message: expect.not.stringContaining('unknown') },
    });
    expect(notes.attempts).toBe(3);
    expect(notes).not.toHaveProperty('resultUnknown');
  });

  it('cannot forget what an earlier try wrote', async () => {
    // The first try crashes the tool; afterwards it does not start any more.
    const flag = join(folder, 'effects');
    const text = `test -e ${flag} && exit 1; read l; echo '{"jsonrpc":"2.0","id":"0","result":{}}'; read l; echo -n x > ${flag}; exit 9`;
    const spec = lab.spec(['--norc', '-c', text], 'bash');
    const { outcome, notes } = await run({
      then: [],
      settings: { spec, maxFailedStarts: 1 },
      maxRetries: 1,
      annotations: { idempotent: true },
    });
    expect(outcome).toMatchObject({
      error: { type: 'spawn_failed', message: expect.stringContaining(unknown) },
    });
    expect(notes).toMatchObject({ attempts: 2, resultUnknown: true });
    expect(effects()).toBe(1);
  });
});
