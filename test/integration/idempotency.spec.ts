import { Cancellation } from '../../src/base/common/cancellation.js';
import { Deadline } from '../../src/base/common/deadline.js';
import { Refusal } from '../../src/base/common/errors.js';
import { InFlight } from '../../src/base/common/lifecycle.js';
import { newId } from '../../src/base/common/ids.js';
import { ClaimKeeper } from '../../src/call/repetition/claim-keeper.js';
import { type Claim, IdempotencyRepository } from '../../src/call/repetition/idempotency.repository.js';
import { IdempotentCalls, type KeyedCall } from '../../src/call/repetition/idempotent-calls.js';
import type { ToolOutcome } from '../../src/web/contract/tool-outcome.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/wait.js';

const maxOutcomeBytes = 2_000;
const idempotency = { ttlMs: 60_000, leaseMs: 60_000 };
let db: TestDatabase;
const keepers: ClaimKeeper[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  for (const keeper of keepers) await keeper.stop();
  await db.release();
});

/** One gateway of several that share the database; the claims of one that is not alive lapse soon. */
function gateway({ settings = {}, alive = true, beatMs = 20_000 } = {}) {
  const all = { ...idempotency, ...(!alive && { leaseMs: 300 }), ...settings };
  const store = new IdempotencyRepository(db.dataSource, { idempotency: all });
  const lost: Claim[] = [];
  const keeper = new ClaimKeeper(store, 3 * beatMs, {
    failed: (error) => {
      throw error;
    },
    lost: (claim) => lost.push(claim),
  });
  if (alive) keeper.start();
  keepers.push(keeper);
  return {
    store,
    keeper,
    lost,
    calls: new IdempotentCalls(store, keeper, maxOutcomeBytes, new InFlight()),
  };
}

let keys = 0;
const keyed = (changes: Partial<KeyedCall> = {}): KeyedCall => ({
  tool: 'charge',
  input: { amount: 5 },
  context: { userId: 'ann', requestId: 'r', projectId: 'default' },
  principal: { userId: 'admin', scopes: new Set() },
  idempotencyKey: `key-${++keys}`,
  deadline: Deadline.ofSmallest([60_000]),
  idempotent: false,
  withoutSecrets: (outcome) => outcome,
  ...changes,
});

const success = (executionId: string, result: unknown = 'paid'): ToolOutcome => ({
  executionId,
  tool: 'charge',
  executionTimeMs: 3,
  attempts: 1,
  cached: false,
  status: 'success',
  result,
});

/** A tool that counts, and answers when it is told to. */
function tool() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const runs: string[] = [];
  const run = async (executionId: string, begin?: () => Promise<void>) => {
    await begin?.();
    runs.push(executionId);
    await promise;
    return { outcome: success(executionId) };
  };
  return { run, runs, finish: resolve };
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof Refusal ? error.code : error),
  );

describe('a key', () => {
  it('runs its call once and gives the same outcome again, here and at another gateway', async () => {
    const [one, two] = [gateway(), gateway()];
    const call = keyed();
    const { run, runs, finish } = tool();
    finish();
    const first = await one.calls.once(call, run);
    expect(first).not.toHaveProperty('replayed');
    for (const { calls } of [one, two]) {
      expect(await calls.once(call, run)).toEqual({ outcome: first.outcome, replayed: true });
    }
    expect(runs).toEqual([first.outcome.executionId]);
  });

  it('lets whoever comes meanwhile wait, here and at another gateway', async () => {
    const gateways = [gateway(), gateway()];
    const call = keyed();
    const { run, runs, finish } = tool();
    const answers = gateways.flatMap(({ calls }) => Array.from({ length: 25 }, () => calls.once(call, run)));
    await until(() => runs.length > 0, { what: 'the first call to run' });
    finish();
    const outcomes = await Promise.all(answers);
    expect(runs).toHaveLength(1);
    expect(new Set(outcomes.map(({ outcome }) => outcome.executionId))).toEqual(new Set(runs));
    expect(outcomes.filter((answer) => 'replayed' in answer)).toHaveLength(49);
  });

  it('is a conflict for whoever cannot wait so long', async () => {
    const call = keyed();
    const { run, runs, finish } = tool();
    const { calls } = gateway();
    const first = calls.once(call, run);
    await until(() => runs.length > 0, { what: 'the first call to run' });
    const impatient = { ...call, deadline: Deadline.ofSmallest([40]) };
    expect(await codeOf(calls.once(impatient, run))).toBe('conflict');
    expect(await codeOf(gateway().calls.once(impatient, run))).toBe('conflict');
    const left = new Cancellation();
    left.cancel();
    expect(await codeOf(calls.once({ ...call, cancellation: left }, run))).toBe('conflict');
    finish();
    await first;
  });

  it.each([
    ['running', false],
    ['ended', true],
  ])('that came with another input before is refused while that is %s', async (_what, ended) => {
    const call = keyed();
    const { run, runs, finish } = tool();
    const { calls } = gateway();
    const first = calls.once(call, run);
    await until(() => runs.length > 0, { what: 'the first call to run' });
    if (ended) {
      finish();
      await first;
    }
    const other = { ...call, input: { amount: 6 } };
    expect(await codeOf(calls.once(other, run))).toBe('idempotency_key_reused');
    expect(await codeOf(gateway().calls.once(other, run))).toBe('idempotency_key_reused');
    finish();
    await first;
    expect(runs).toHaveLength(1);
  });

  it('is the same for inputs that differ in the order of their members only', async () => {
    const { calls } = gateway();
    const { run, runs, finish } = tool();
    finish();
    const call = keyed({ input: { a: 1, b: 2 } });
    await calls.once(call, run);
    await calls.once({ ...call, input: { b: 2, a: 1 } }, run);
    expect(runs).toHaveLength(1);
  });

  it('belongs to one caller, user, project and tool', async () => {
    const { calls } = gateway();
    const { run, runs, finish } = tool();
    finish();
    const call = keyed();
    const others: Partial<KeyedCall>[] = [
      { principal: { ...call.principal, userId: 'other-key' } },
      { context: { ...call.context, userId: 'bob' } },
      { context: { ...call.context, projectId: 'p2' } },
      { tool: 'refund' },
    ];
    for (const other of [{}, ...others]) await calls.once({ ...call, ...other }, run);
    expect(runs).toHaveLength(5);
  });

  it('is free again after a refusal, also for those who waited', async () => {
    const { calls } = gateway();
    const call = keyed();
    const { run, runs, finish } = tool();
    finish();
    const [running, late] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
    const refused = codeOf(calls.once(call, () => (running.resolve(), late.promise)));
    await running.promise;
    const waiting = calls.once(call, run);
    late.reject(new Refusal('queue_full', 'full'));
    expect(await refused).toBe('queue_full');
    const waited = await waiting;
    expect(waited.outcome.executionId).toBe(runs[0]);
    expect(waited).not.toHaveProperty('replayed');
  });

  it('keeps a failure as it keeps a success', async () => {
    const { calls } = gateway();
    const call = keyed();
    const failed = (executionId: string): ToolOutcome => ({
      ...success(executionId),
      status: 'error',
      error: { code: -32001, type: 'tool_error', message: 'no \0 such \ud800 file' },
    });
    const first = await calls.once(call, async (executionId) => ({ outcome: failed(executionId) }));
    expect(await gateway().calls.once(call, tool().run)).toEqual({ ...first, replayed: true });
  });

  it('keeps no outcome over the cap, and says so instead of running the call again', async () => {
    const { calls } = gateway();
    const call = keyed();
    const big = 'x'.repeat(3_000);
    const first = await calls.once(call, async (executionId) => ({ outcome: success(executionId, big) }));
    const { outcome } = await calls.once(call, tool().run);
    expect(outcome).toMatchObject({
      executionId: first.outcome.executionId,
      status: 'error',
      error: { type: 'output_too_large', message: expect.stringContaining('not stored: the cap is 2000') },
    });
  });

  it('is forgotten when its time is over, and then removed', async () => {
    const { calls, store } = gateway({ settings: { ttlMs: 150 } });
    const call = keyed();
    const { run, runs, finish } = tool();
    finish();
    await calls.once(call, run);
    await until(async () => 'replayed' in (await calls.once(call, run)) === false, { what: 'the expiry' });
    expect(runs).toHaveLength(2);
    await until(async () => (await store.deleteExpired()) > 0, { what: 'an expired key to be removed' });
  });
});

describe('a gateway that dies while a call runs', () => {
  const never = () => new Promise<never>(() => undefined);

  async function abandoned(call: KeyedCall, hasBegun = true): Promise<string> {
    let id = '';
    void gateway({ alive: false }).calls.once(call, async (executionId, begin) => {
      if (hasBegun) await begin?.();
      id = executionId;
      return never();
    });
    return until(() => id, { what: 'the call to run' });
  }

  it('leaves a call that is answered as interrupted, under its own id, and never run again', async () => {
    const call = keyed();
    const executionId = await abandoned(call);
    const { run, runs } = tool();
    const expected = { executionId, status: 'error', error: { type: 'interrupted' } };
    const answers = await Promise.all([gateway().calls.once(call, run), gateway().calls.once(call, run)]);
    for (const { outcome } of answers) expect(outcome).toMatchObject(expected);
    expect(runs).toEqual([]);
  });

  it.each([
    ['the tool is idempotent', { idempotent: true }, true],
    ['the tool was never given the call', { idempotent: false }, false],
  ])('leaves a call that is run again, once, if %s', async (_why, changes, hasBegun) => {
    const call = keyed(changes);
    await abandoned(call, hasBegun);
    const { run, runs, finish } = tool();
    finish();
    const answers = await Promise.all([gateway().calls.once(call, run), gateway().calls.once(call, run)]);
    expect(new Set(answers.map(({ outcome }) => outcome.executionId))).toEqual(new Set(runs));
    expect(runs).toHaveLength(1);
  });

  it('and was only away for a while gives its tool no call that runs elsewhere, nor one that it cannot report', async () => {
    const call = keyed();
    const [claimed, waits] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = gateway({ alive: false }).calls.once(call, async (executionId, begin) => {
      claimed.resolve();
      await waits.promise;
      await begin?.();
      return { outcome: success(executionId, 'twice') };
    });
    const { run, runs, finish } = tool();
    finish();
    await claimed.promise;
    const { outcome } = await gateway().calls.once(call, run);
    expect(outcome.status).toBe('success');
    waits.resolve();
    await expect(first).rejects.toMatchObject({ type: 'interrupted' });
    expect(runs).toHaveLength(1);
  });

  it('reports no lost key if it stores an outcome a second time', async () => {
    const { keeper, store, lost } = gateway();
    const { idempotencyKey: scope } = keyed();
    const claim = { id: newId(), scope, tool: 'charge', inputHash: 'hash' };
    expect(await store.claim(claim)).toEqual({ kind: 'claimed' });
    keeper.hold(claim);
    const outcome = JSON.stringify(success(claim.id));
    // The stop stores it once more while the first statement is under way.
    await Promise.all([keeper.end(claim, { outcome }), keeper.stop()]);
    expect(lost).toEqual([]);
    expect([await store.end(claim, outcome), await store.end(claim, '{}')]).toEqual([true, false]);
  });

  it('is not taken for dead while it says that it lives', async () => {
    const call = keyed({ idempotent: true });
    const { run, runs, finish } = tool();
    const first = gateway({ beatMs: 100 }).calls.once(call, run);
    await until(() => runs.length > 0, { what: 'the first call to run' });
    const row = (sql: string) => db.dataSource.query(sql, [runs[0]]);
    // As if its lease were over, until it says again that it lives.
    await row(`UPDATE idempotency_keys SET held_until = now() - interval '1 s' WHERE claim = $1`);
    const held = 'SELECT FROM idempotency_keys WHERE claim = $1 AND held_until > now()';
    await until(async () => (await row(held)).length > 0, { what: 'the lease to be renewed' });
    expect(await codeOf(gateway().calls.once({ ...call, deadline: Deadline.ofSmallest([40]) }, run))).toBe(
      'conflict',
    );
    finish();
    await first;
    expect(runs).toHaveLength(1);
  });

  it('and was only away for a while finds what was decided meanwhile', async () => {
    const call = keyed();
    const away = gateway({ alive: false });
    const { run, runs, finish } = tool();
    const first = away.calls.once(call, run);
    await until(() => runs.length > 0, { what: 'the first call to run' });
    const { outcome } = await gateway().calls.once(call, run);
    expect(outcome).toMatchObject({ error: { type: 'interrupted' } });
    finish();
    expect((await first).outcome.status).toBe('success');
    expect(away.lost).toMatchObject([{ id: runs[0] }]);
    expect((await away.calls.once(call, run)).outcome).toEqual(outcome);
  });
});

describe('IdempotencyRepository', () => {
  it('renews only claims that are held and have no outcome', async () => {
    const { store } = gateway();
    const claim = { id: newId(), scope: 'renewed', tool: 't', inputHash: 'h' };
    expect(await store.claim(claim)).toEqual({ kind: 'claimed' });
    await db.dataSource.query(
      `UPDATE idempotency_keys SET held_until = now() - interval '1 s' WHERE scope = 'renewed'`,
    );
    await store.renew([{ ...claim, id: newId() }]);
    expect(await store.claim({ ...claim, id: newId() })).toMatchObject({ abandoned: true, holder: claim.id });
    await store.renew([claim]);
    expect(await store.claim({ ...claim, id: newId() })).toMatchObject({ abandoned: false });
    expect(await store.takeOver(claim.id, { ...claim, id: newId() })).toBe(false);
    expect(await store.end(claim, '{}')).toBe(true);
    expect(await store.end(claim, '{"other":1}')).toBe(false);
    await store.release(claim);
    expect(await store.claim(claim)).toEqual({ kind: 'ended', inputHash: 'h', outcome: '{}' });
  });
});
