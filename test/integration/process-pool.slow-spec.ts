import { Cancellation } from '../../src/base/common/cancellation.js';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/wait.js';
import fc from 'fast-check';
import type { PoolFailure } from '../../src/runtime/process-pool/pool.types.js';
import { probeExecutable } from '../../src/runtime/custom-tools/launch/probe-executable.js';
import type { ProcessPool } from '../../src/runtime/process-pool/process-pool.js';
import { StartSlots } from '../../src/runtime/process-pool/start-slots.js';
import { makeTemplateProject, templateFolder } from '../support/template-project.js';
import { call, PoolLab, result } from '../fixtures/tools/pool-lab.js';

describe('the templates for tool authors, unchanged', () => {
  let lab: PoolLab;
  const project = makeTemplateProject();

  beforeEach(() => {
    lab = new PoolLab();
  });
  afterEach(() => lab.close());
  afterAll(() => rmSync(project, { recursive: true, force: true }));

  const spec = (command: string, file: string) => lab.spec([join(project, templateFolder, file)], command);

  it.each([
    [
      'python3',
      'tool.py',
      { query: 'x' },
      { success: true, data: [{ id: 1, title: 'Result for x' }], count: 1 },
    ],
    [
      process.execPath,
      'tool.js',
      { query: 'x' },
      { success: true, data: [{ id: 1, title: 'Result for x' }], count: 1 },
    ],
    ['bash', 'tool.sh', { command: 'echo hi' }, { success: true, output: 'hi\n' }],
  ])(
    '%s %s: starts, answers, says -32602 for a missing parameter, ends on EOF',
    async (command, file, input, answer) => {
      const settings = lab.settings({ spec: spec(command, file), stopGraceMs: 60_000 });
      await expect(probeExecutable(settings.spec, settings, PoolLab.launcher)).resolves.toMatchObject({
        handshake: { name: 'my_custom_tool', version: '1.0.0', inputSchema: { type: 'object' } },
      });
      const pool = lab.pool(settings);
      for (let n = 0; n < 3; n++) expect(await result(pool, input)).toEqual(answer);
      const { reply } = await call(pool, { other: 1 });
      expect(reply).toMatchObject({ error: { code: -32602 } });
      await pool.stop();
      expect(lab.of('spawn')).toHaveLength(1);
      expect(lab.of('terminate')).toEqual([expect.objectContaining({ reason: 'stop', exitCode: 0 })]);
    },
  );
});

/** No call needs so long on any machine. */
const ampleMs = 90_000;

/** One random call, and what may become of it. */
interface Step {
  readonly action: 'echo' | 'sleep' | 'crash' | 'hang' | 'error' | 'noise' | 'pretty' | 'grandchild';
  readonly timeoutMs: number;
  readonly abortAfterMs?: number;
  readonly fresh: boolean;
}

const step: fc.Arbitrary<Step> = fc.record(
  {
    action: fc.constantFrom(
      'echo',
      'echo',
      'echo',
      'sleep',
      'crash',
      'hang',
      'error',
      'noise',
      'pretty',
      'grandchild',
    ),
    timeoutMs: fc.constantFrom(1, 20, 150, ampleMs),
    abortAfterMs: fc.constantFrom(0, 5, 60),
    fresh: fc.constantFrom(false, false, false, true),
  },
  { requiredKeys: ['action', 'timeoutMs', 'fresh'] },
);

const shape = fc.record({
  poolSize: fc.integer({ min: 1, max: 3 }),
  maxConcurrency: fc.integer({ min: 1, max: 2 }),
  keepAlive: fc.boolean(),
  maxQueue: fc.integer({ min: 0, max: 20 }),
  idleTimeoutMs: fc.constantFrom(30, 60_000),
  maxRequests: fc.constantFrom(0, 1, 2),
  maxProcesses: fc.integer({ min: 1, max: 4 }),
  maxStarts: fc.integer({ min: 1, max: 3 }),
  cancels: fc.boolean(),
});

describe('any mix of calls', () => {
  it('ends each exactly once, with its own answer or a fitting failure, and leaves nothing behind', async () => {
    await fc.assert(
      fc.asyncProperty(
        shape,
        fc.array(step, { minLength: 1, maxLength: 14 }),
        async ({ maxProcesses, maxStarts, cancels, ...settings }, steps) => {
          const lab = new PoolLab();
          const slots = new StartSlots(maxProcesses, maxStarts);
          const spec = lab.spec(cancels ? ['--declares=cancel,shutdown'] : []);
          const pools = ['a', 'b'].map((name) =>
            lab.pool({ ...settings, name, spec, stopGraceMs: 100 }, { slots }),
          );
          const excesses = watchCaps(pools, () => {
            const { poolSize } = settings;
            return [
              slots.inUse <= maxProcesses,
              slots.starting <= maxStarts,
              // A spare one, or the successor of a worn one.
              pools.every((pool) => living(pool) <= poolSize + 1),
            ];
          });
          const capacity =
            settings.poolSize * (settings.keepAlive ? settings.maxConcurrency : 1) + settings.maxQueue;
          const shared = settings.keepAlive && settings.maxConcurrency > 1;
          try {
            const outcomes = await Promise.all(
              steps.map((each, n) => outcome(pools[n % 2] as ProcessPool, each, n)),
            );
            for (const [n, each] of steps.entries()) {
              expect(allowed(each, n, capacity, shared)).toContainEqual(outcomes[n]);
            }
            for (const pool of pools) {
              expect(pool.stats().waiting).toBe(0);
              // A tool that was asked to end a call has its grace for that.
              await until(() => pool.stats().busy === 0, { what: 'every process to be idle' });
              expect(await result(pool, { still: 'fine' })).toEqual({ still: 'fine' });
            }
          } finally {
            await lab.close(1_000);
          }
          expect(excesses()).toBe(0);
          expect([slots.inUse, slots.starting, slots.waiting]).toEqual([0, 0, 0]);
          const ended = lab.of('terminate').map(({ pid }) => pid);
          expect(new Set(ended).size).toBe(ended.length);
        },
      ),
      // A failure is told as it came: shrinking would start processes for minutes.
      { numRuns: 30, seed: 20_779, endOnFailure: true },
    );
  }, 300_000);
});

const living = (pool: ProcessPool): number => {
  const { starting, idle, busy } = pool.stats();
  return starting + idle + busy;
};

/** Looks at every event whether all caps hold. @returns how often one did not */
function watchCaps(pools: readonly ProcessPool[], hold: () => boolean[]): () => number {
  let excesses = 0;
  for (const pool of pools) {
    pool.events.subscribe(() => {
      if (hold().includes(false)) excesses++;
    });
  }
  return () => excesses;
}

/** The result, or what went wrong in a word. */
async function outcome(pool: ProcessPool, each: Step, n: number): Promise<unknown> {
  // A call that hangs needs an end.
  const timeoutMs = each.action === 'hang' ? Math.min(each.timeoutMs, 150) : each.timeoutMs;
  const caller = new Cancellation();
  const timer =
    each.abortAfterMs === undefined ? undefined : setTimeout(() => caller.cancel(), each.abortAfterMs);
  const input = { action: each.action, n, ms: 15, then: 'crash' };
  try {
    const { reply } = await call(pool, input, { timeoutMs, fresh: each.fresh, cancellation: caller });
    if ('error' in reply) return `error ${reply.error.code}`;
    return typeof reply.result === 'object' ? { ...reply.result, pid: undefined } : reply.result;
  } catch (error) {
    return (error as PoolFailure).reason;
  } finally {
    clearTimeout(timer);
  }
}

function allowed(each: Step, n: number, capacity: number, shared: boolean): unknown[] {
  const echo = { action: each.action, n, ms: 15, then: 'crash', pid: undefined };
  const answers: Record<Step['action'], unknown[]> = {
    echo: [echo],
    pretty: [echo],
    sleep: [{ slept: 15, pid: undefined }],
    noise: ['after noise'],
    error: ['error -32001'],
    crash: ['tool_crashed'],
    grandchild: ['tool_crashed'],
    hang: [],
  };
  return [
    ...answers[each.action],
    // A neighbour on the same process may take it down.
    ...(shared ? ['tool_crashed'] : []),
    ...(each.timeoutMs < ampleMs || each.action === 'hang' ? ['timeout'] : []),
    ...(each.abortAfterMs === undefined ? [] : ['cancelled']),
    ...(Math.floor(n / 2) >= capacity ? ['queue_full'] : []),
  ];
}
