import { Logger } from '@nestjs/common';
import { TypedEvents } from './typed-events.js';
import { WriteBehind } from './write-behind.js';

interface Row {
  readonly id: string;
  count: number;
}

class History extends WriteBehind<Row> {
  override flush = (): Promise<void> => super.flush();
}

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(['log', 'warn', 'error', 'fatal']));

describe('WriteBehind', () => {
  const setUp = (insert: (rows: readonly Row[]) => Promise<unknown>) => {
    const events = new TypedEvents<Row>(() => undefined);
    const history = new History(
      'rows',
      events,
      { insert: async (rows) => void (await insert(rows)), deleteOlder: async () => undefined },
      1,
    );
    void history.onModuleInit();
    return { events, history };
  };

  it('writes rows in their order, each once however often it is emitted, as it is by then', async () => {
    const written: string[] = [];
    const { events, history } = setUp(async (rows) => written.push(JSON.stringify(rows)));
    const [a, b] = [
      { id: 'a', count: 1 },
      { id: 'b', count: 1 },
    ];
    for (const row of [a, b, a]) events.emit(row);
    a.count = 2;
    await history.flush();
    await history.flush();
    expect(written).toEqual([JSON.stringify([{ id: 'a', count: 2 }, b])]);
  });

  it('writes a row again that changes while it is written', async () => {
    const row = { id: 'a', count: 1 };
    const counts: number[] = [];
    const { events, history } = setUp(async ([first]) => {
      counts.push(first?.count ?? 0);
      if (counts.length > 1) return;
      row.count = 2;
      events.emit(row);
    });
    events.emit(row);
    await history.flush();
    expect(counts).toEqual([1, 2]);
  });

  it('keeps what cannot be written, in its order', async () => {
    let isAway = true;
    const written: string[] = [];
    const { events, history } = setUp(async (rows) => {
      if (isAway) throw new Error('away');
      written.push(...rows.map(({ id }) => id));
    });
    for (const id of ['a', 'b']) events.emit({ id, count: 1 });
    await expect(history.flush()).rejects.toThrow('away');
    events.emit({ id: 'c', count: 1 });
    isAway = false;
    await history.flush();
    expect(written).toEqual(['a', 'b', 'c']);
  });
});
