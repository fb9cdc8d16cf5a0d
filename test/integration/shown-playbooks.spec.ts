import { Logger } from '@nestjs/common';
import { ShownPlaybooks } from '../../src/agents/playbooks/shown/shown-playbooks.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/wait.js';

Logger.overrideLogger(false);

const hour = 3_600_000;
const a = { playbook_id: 'a', version: '1.0.0' };
const b = { playbook_id: 'b', version: '2.0.0' };

let db: TestDatabase;
let shown: ShownPlaybooks;

function replica(ttlMs = hour): ShownPlaybooks {
  const made = new ShownPlaybooks(db.dataSource, { investigations: { ttlMs } } as never);
  void made.onModuleInit();
  return made;
}
const find = async (investigation: string, { playbook_id, version }: typeof a) =>
  (await shown.of(investigation)).find((row) => row.playbook_id === playbook_id && row.version === version);
const rows = (): Promise<{ times: number; playbook_id: string }[]> =>
  db.dataSource.query('SELECT * FROM playbook_shown ORDER BY investigation_id, playbook_id');

beforeEach(async () => {
  db = await createTestDatabase();
  shown = replica();
});
afterEach(async () => {
  await shown.onApplicationShutdown();
  await db.release();
});

describe('what an investigation was shown', () => {
  it('is known at once, and of other investigations and versions nothing', async () => {
    shown.remember('inv-1', [a, b]);
    expect(await find('inv-1', a)).toMatchObject({ ...a, times: 1, first_shown_at: expect.any(Date) });
    expect(await find('inv-1', { ...a, version: '1.0.1' })).toBeUndefined();
    expect(await find('inv-2', a)).toBeUndefined();
    expect((await shown.of('inv-1')).map(({ playbook_id }) => playbook_id)).toEqual(['a', 'b']);
  });

  it('counts how often, and keeps the first and the last time', async () => {
    shown.remember('inv-1', [a]);
    const first = await find('inv-1', a);
    shown.remember('inv-1', [a]);
    shown.remember('inv-1', [a, b]);
    const last = await find('inv-1', a);
    expect(last).toMatchObject({ times: 3, first_shown_at: first?.first_shown_at });
    expect(Number(last?.last_shown_at)).toBeGreaterThanOrEqual(Number(first?.last_shown_at));
  });

  it('is written by itself, soon, and at the end', async () => {
    shown.remember('inv-1', [a]);
    expect(await rows()).toEqual([]);
    shown.onApplicationBootstrap();
    await until(async () => (await rows()).length === 1, { what: 'the row' });
    shown.remember('inv-1', [b]);
    await shown.onApplicationShutdown();
    expect(await rows()).toHaveLength(2);
  });

  it('survives a restart and is shared by replicas that write side by side', async () => {
    const replicas = [replica(), replica(), replica()];
    const many = Array.from({ length: 200 }, (_, at) => ({
      playbook_id: `p${(at * 37) % 200}`,
      version: '1.0.0',
    }));
    for (const [at, each] of replicas.entries()) {
      each.remember('inv-1', at === 1 ? [...many].reverse() : many);
    }
    await Promise.all(replicas.map((each) => each.onApplicationShutdown()));
    expect((await shown.of('inv-1')).map(({ times }) => times)).toEqual(Array.from({ length: 200 }, () => 3));
  });

  it('expires, is removed then, and begins anew', async () => {
    const short = replica(1);
    short.remember('inv-1', [a]);
    await short.onApplicationShutdown();
    await until(async () => (await find('inv-1', a)) === undefined, { what: 'its end' });
    shown.remember('inv-1', [a]);
    expect(await find('inv-1', a)).toMatchObject({ times: 1 });
    const other = replica(1);
    other.remember('inv-2', [a, b]);
    await other.onApplicationShutdown();
    await until(async () => (await shown.of('inv-2')).length === 0, { what: 'its end' });
    expect(await rows()).toHaveLength(3);
    shown.onApplicationBootstrap();
    await until(async () => (await rows()).length === 1, { what: 'its removal' });
  });

  it('waits for a database that is away, and takes no identity that no table could hold', async () => {
    await db.dataSource.query('ALTER TABLE playbook_shown RENAME TO away');
    shown.remember('inv-1', [
      a,
      { playbook_id: 'x'.repeat(257), version: '1' },
      { playbook_id: 'n\0l', version: '1' },
    ]);
    await expect(find('inv-1', a)).rejects.toThrow('playbook_shown');
    shown.remember('inv-1', [a]);
    await db.dataSource.query('ALTER TABLE away RENAME TO playbook_shown');
    expect(await find('inv-1', a)).toMatchObject({ times: 2 });
    expect((await shown.of('inv-1')).map(({ playbook_id }) => playbook_id)).toEqual(['a', 'n\uFFFDl']);
  });
});
