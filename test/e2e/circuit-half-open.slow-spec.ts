import { Refusal } from '../../src/base/common/errors.js';
import type { Tool } from '../../src/web/contract/tool.js';
import { ToolFailure } from '../../src/web/contract/tool-outcome.js';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

// Real: the whole server with its door and guards, over HTTP. Ours: the tool behind it.

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp({}, { circuit: { openMs: 100, maxOpenMs: 100 } });
});

afterAll(() => tk.close());

type Mode = 'answer' | 'fail' | 'hold' | 'full';

/** A tool that does what the test says, and counts who reaches it. */
class Puppet {
  mode: Mode = 'fail';
  reached = 0;
  private readonly held: (() => void)[] = [];

  constructor(readonly name: string) {
    tk.app.get(ToolRegistry).register(this.tool());
  }

  letGo(): void {
    for (const go of this.held.splice(0)) go();
  }

  /** @returns the status of the answer, or the code of the refusal */
  async call(context: object = {}): Promise<string> {
    const answer = await fetch(`${tk.url}/api/v1/tools/${this.name}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: {}, context }),
    });
    const { status, code } = (await answer.json()) as { status: string | number; code?: string };
    return code ?? String(status);
  }

  async state(): Promise<string> {
    return (await tk.http.get(`/api/v1/tool-health/${this.name}/circuit`).expect(200)).body.state;
  }

  /** Fails until the circuit opens and waits until it probes. */
  async halfOpen(): Promise<void> {
    this.mode = 'fail';
    for (let n = 0; n < 5; n++) expect(await this.call()).toBe('error');
    await until(async () => (await this.state()) === 'half_open', { what: 'a half-open circuit' });
    this.reached = 0;
  }

  private tool(): Tool {
    const run = async (): Promise<object> => {
      this.reached += 1;
      if (this.mode === 'fail') throw new ToolFailure('tool_error', 'it fails');
      if (this.mode === 'hold') await new Promise<void>((go) => this.held.push(go));
      return {};
    };
    return {
      definition: {
        name: this.name,
        description: 'Does what the test says',
        kind: 'builtin',
        version: '1.0.0',
        inputSchema: {},
        annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
        tags: [],
        timeoutMs: 60_000,
        callsPerInvestigation: 1,
      },
      validate: () => [],
      takeSlot: () => {
        if (this.mode === 'full') throw new Refusal('queue_full', 'full', { retryAfterMs: 1_000 });
        return { run, release: () => undefined };
      },
      run,
    };
  }
}

const tally = (words: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(words, (word) => word)].map(([word, { length }]) => [word, length]));

it('lets 3 of 1,000 callers at once reach the tool, and their successes close it', async () => {
  const tool = new Puppet('storm');
  await tool.halfOpen();
  tool.mode = 'hold';
  const refused: string[] = [];
  const calls = Array.from({ length: 1_000 }, async () => {
    const word = await tool.call();
    if (word === 'circuit_open') refused.push(word);
    return word;
  });
  await until(() => refused.length === 997, { timeoutMs: 60_000, what: '997 refusals' });
  expect(tool.reached).toBe(3);
  tool.letGo();
  expect(tally(await Promise.all(calls))).toEqual({ success: 3, circuit_open: 997 });
  expect(tool.reached).toBe(3);
  expect(await tool.state()).toBe('closed');
});

it('opens again for 1,000 callers when one of the 3 fails', async () => {
  const tool = new Puppet('relapse');
  await tool.halfOpen();
  const words = tally(await Promise.all(Array.from({ length: 1_000 }, () => tool.call())));
  // Its opening may end while the last of them arrive: then 3 more may try.
  expect(tool.reached).toBe(words['error']);
  // A read may be refused while the records of so many calls are on their way.
  const { history } = await until(
    async () => {
      const { status, body } = await tk.http.get('/api/v1/tool-health/relapse/circuit?limit=1000');
      return status === 200 && body;
    },
    { what: 'the history of the circuit' },
  );
  const probing = history.filter(({ to }: { to: string }) => to === 'half_open').length;
  expect(tool.reached).toBeGreaterThan(0);
  expect(tool.reached).toBeLessThanOrEqual(3 * probing);
  expect((words['error'] ?? 0) + (words['circuit_open'] ?? 0)).toBe(1_000);
});

it.each<[string, string, Mode]>([
  ['the budget', 'investigation_budget_spent', 'answer'],
  ['the queue', 'queue_full', 'full'],
])('loses no permit when %s refuses', async (_what, code, mode) => {
  const tool = new Puppet(`permits-${mode}`);
  const spent = { investigationId: `inv-${mode}` };
  tool.mode = 'answer';
  if (mode === 'answer') expect(await tool.call(spent)).toBe('success');
  await tool.halfOpen();
  tool.mode = mode;
  const refused = await Promise.all(
    Array.from({ length: 50 }, () => tool.call(mode === 'answer' ? spent : {})),
  );
  // While places are taken by calls that are about to be refused, the circuit itself may refuse.
  expect(refused).toContain(code);
  expect(new Set([...refused, 'circuit_open', code])).toEqual(new Set(['circuit_open', code]));
  expect(tool.reached).toBe(0);
  expect(await tool.state()).toBe('half_open');
  tool.mode = 'answer';
  expect([await tool.call(), await tool.call(), await tool.call()]).toEqual([
    'success',
    'success',
    'success',
  ]);
  expect(await tool.state()).toBe('closed');
});
