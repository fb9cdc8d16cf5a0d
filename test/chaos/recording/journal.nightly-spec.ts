import { randomUUID } from 'node:crypto';
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalEntry } from '../../../src/records/journal/journal-entry.js';
import { segmentPath } from '../../../src/records/journal/segment-files.js';
import type { ExecutionEnd, ExecutionStart } from '../../../src/records/executions/execution-record.js';
import { journalLine, journalText } from '../../support/journal-lines.js';
import { launchServer } from '../../support/server-process.js';
import { until } from '../../support/wait.js';
import { Random } from '../random.js';
import { Ledger } from './ledger.js';
import { holding, Rig } from './rig.js';

const seed = Number(process.env['CHAOS_SEED'] ?? 20_779);

type Entry = JournalEntry<ExecutionStart, ExecutionEnd>;
const startOf = (id: string, toolName = 'quick'): Entry => ({
  id,
  start: { toolName, userId: 'u', startedAt: Date.now() - 1_000, metadata: {} },
});
const endOf = (id: string): Entry => ({ id, end: { status: 'success', executionTimeMs: 5 } });

/** real: the built server, its PostgreSQL and journal; ours: what a gateway that died has left in the folder. */
describe(`a journal that the server finds at its start, seed ${seed}`, () => {
  const rig = new Rig();
  beforeAll(() => rig.open(), 120_000);
  afterAll(() => rig.close(), 60_000);

  const statusOf = async (): Promise<Map<unknown, unknown>> => {
    const rows = await rig.db.query(
      `SELECT metric_id::text AS id, status || '/' || coalesce(error_type, '') AS said FROM tool_metrics`,
    );
    return new Map(rows.map(({ id, said }) => [id, said]));
  };
  /** Everything that recording writes, rollups included. */
  const recorded = async (): Promise<string[]> => {
    const tables = await rig.db.query(
      `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
       AND starts_with(relname, 'tool_metrics') ORDER BY relname`,
    );
    const lines = tables.map(async ({ name }) => {
      const rows = await rig.db.query(`SELECT t::text AS line FROM ${String(name)} t ORDER BY 1`);
      return rows.map(({ line }) => `${String(name)} ${String(line)}`);
    });
    return (await Promise.all(lines)).flat();
  };
  /** @returns when the segments of earlier gateways are gone */
  const replayed = (): Promise<unknown> =>
    until(() => readdirSync(rig.journal).filter((name) => name.endsWith('.journal')).length === 1, {
      what: 'the replay of the journal',
    });

  it('belongs to one gateway', async () => {
    const { child, log } = launchServer(rig.variables());
    await until(() => child.exitCode !== null, { what: 'the second gateway to end', timeoutMs: 60_000 });
    expect(child.exitCode).not.toBe(0);
    expect(log()).toMatch(/The journal of executions in \S+ belongs to another gateway/);
  });

  it('adds nothing when it is replayed twice', async () => {
    const ledger = new Ledger();
    const held = [1, 2, 3].map(() => ledger.call(rig.url, 'held', holding));
    await Promise.all(Array.from({ length: 50 }, () => ledger.call(rig.url, 'quick', {})));
    await until(async () => (await rig.metric('toolkeeper_calls_in_flight')) >= 3, {
      what: 'calls in flight',
    });
    await rig.kill();
    await Promise.all(held);
    const copy = join(rig.folder, 'copy');
    cpSync(rig.journal, copy, { recursive: true });
    await rig.start();
    await replayed();
    const before = await recorded();
    expect(await ledger.verdict(rig.db)).toMatchObject({
      acknowledged: 50,
      interrupted: 3,
      lost: 0,
      doubled: 0,
    });
    await rig.kill();
    rmSync(rig.journal, { recursive: true });
    cpSync(copy, rig.journal, { recursive: true });
    await rig.start();
    await replayed();
    expect(await recorded()).toEqual(before);
  });

  it('gives everything that is whole when it is torn and flipped, and sets poison aside', async () => {
    const random = new Random(seed);
    await rig.kill();
    const expected = new Map<string, string | undefined>();
    for (let segment = 1_001; segment <= 1_012; segment++) {
      const ids = Array.from({ length: 8 }, () => randomUUID());
      const lines = ids.flatMap((id) => [startOf(id), endOf(id)]).map((entry) => journalLine(entry));
      const whole = Buffer.from(lines.join(''));
      const journal = random.chance(0.5) ? whole.subarray(0, random.between(1, whole.length - 1)) : whole;
      if (journal === whole) {
        const at = random.between(0, whole.length - 1);
        journal[at] = (journal[at] ?? 0) ^ random.between(1, 255);
      }
      writeFileSync(segmentPath(rig.journal, segment), journal);
      const intact = new Set(
        journal
          .toString()
          .split('\n')
          .slice(0, -1)
          .map((line) => `${line}\n`),
      );
      ids.forEach((id, n) => {
        const [started, ended] = [2 * n, 2 * n + 1].map((entry) => intact.has(lines[entry] ?? ''));
        expected.set(id, started ? (ended ? 'success/' : 'error/interrupted') : undefined);
      });
    }
    // No uuid: the database refuses it.
    const poison = `poison-${seed}`;
    const good = randomUUID();
    const entries = [startOf(poison), startOf(good), endOf(poison), endOf(good)];
    writeFileSync(segmentPath(rig.journal, 1_013), journalText(entries));
    expected.set(good, 'success/');
    await rig.start();
    await replayed();
    const found = await statusOf();
    expect(new Map([...expected.keys()].map((id) => [id, found.get(id)]))).toEqual(expected);
    expect(await rig.db.query('SELECT metric_id FROM tool_metrics_quarantine')).toEqual([
      { metric_id: poison },
    ]);
    expect(await rig.metric('toolkeeper_recorder_quarantined_total')).toBe(1);
    expect(await rig.metric('toolkeeper_journal_damaged_lines_total')).toBeGreaterThan(0);
    const { status, details } = (await (
      await fetch(`${rig.url}/readyz`, { headers: rig.gateway.key })
    ).json()) as {
      status: string;
      details: { recorder: { status: string } };
    };
    expect([status, details.recorder.status]).toEqual(['degraded', 'degraded']);
  });

  it('at its cap refuses calls, loses none, and takes calls again', async () => {
    await rig.end();
    await rig.start({ JOURNAL_MAX_BYTES: '20000' });
    await rig.db.stopAtOnce();
    const ledger = new Ledger();
    const call = () => ledger.call(rig.url, 'quick', {});
    for (let n = 0; n < 200; n++) await call();
    const ready = (await fetch(`${rig.url}/readyz`)).status;
    await rig.db.start();
    expect([ledger.refusedWith('recorder_full') > 0, ready]).toEqual([true, 503]);
    await rig.drained(ledger);
    const before = ledger.acknowledged;
    await until(() => call().then(() => ledger.acknowledged > before), { what: 'calls to be taken again' });
    await rig.drained(ledger);
    expect(await ledger.verdict(rig.db)).toMatchObject({ lost: 0, doubled: 0, wrong: 0, phantom: 0 });
  });
});
