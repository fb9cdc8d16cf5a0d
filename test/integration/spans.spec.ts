import { Logger } from '@nestjs/common';
import { loadConfig } from '../../src/base/config/app-config.js';
import { SpanSink } from '../../src/records/spans/ingest/span-sink.js';
import { type SpanRow, startDayOf } from '../../src/records/spans/span-row.js';
import { SpanRetention } from '../../src/records/spans/span-retention.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { spanRow, storeSpans } from '../support/spans.js';

// real: PostgreSQL; mock: nothing

let database: TestDatabase;
beforeAll(async () => {
  Logger.overrideLogger(false);
  database = await createTestDatabase();
});
afterAll(() => database.release());

const db = () => database.dataSource;
const rowsOf = (project: string) =>
  db().query(
    `SELECT trace_id, span_id, operation, finish_us::float8 AS finish, attributes
     FROM all_spans JOIN all_span_contents USING (project, start_day, trace_id, span_id)
     WHERE project = $1 ORDER BY trace_id, span_id`,
    [project],
  );

describe('the store of spans', () => {
  it('of two spans with one key keeps the later finish, else the first, with its attributes', async () => {
    const first = spanRow({ project: 'twice', operation: 'first', attributes: '{"n": 1}' });
    const later = { ...first, operation: 'later', finishUs: first.finishUs + 1, attributes: '{"n": 2}' };
    const equal = { ...later, operation: 'equal', attributes: '{"n": 3}' };
    await storeSpans(db(), [later, first, equal]);
    await storeSpans(db(), [first, equal]);
    expect(await rowsOf('twice')).toEqual([
      expect.objectContaining({ operation: 'later', finish: later.finishUs, attributes: { n: 2 } }),
    ]);
  });

  it('changes a span by a later finish that comes later', async () => {
    const begun = spanRow({ project: 'later', operation: 'begun' });
    await storeSpans(db(), [begun]);
    await storeSpans(db(), [
      { ...begun, operation: 'ended', finishUs: begun.finishUs + 5, attributes: '{"n": 2}' },
    ]);
    expect(await rowsOf('later')).toEqual([
      expect.objectContaining({ operation: 'ended', attributes: { n: 2 } }),
    ]);
  });

  it('keeps the same ids of two projects, and of two days, apart', async () => {
    const today = spanRow({ project: 'a' });
    const yesterday = { ...today, startUs: today.startUs - 86_400_000_000 };
    await storeSpans(db(), [today, yesterday, { ...today, project: 'b' }]);
    expect(await rowsOf('a')).toHaveLength(2);
    expect(await rowsOf('b')).toHaveLength(1);
  });

  it('is written by two at once in any order without a deadlock', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => spanRow({ project: 'both', spanId: `s${n}` }));
    await storeSpans(db(), rows.slice(0, 1));
    await Promise.all([storeSpans(db(), rows), storeSpans(db(), rows.toReversed()), storeSpans(db(), rows)]);
    expect(await rowsOf('both')).toHaveLength(300);
  });
});

describe('spans that are too old, or too many', () => {
  const dayMs = 86_400_000;
  const gigabyte = 1_073_741_824;
  const retention = (retentionDays: number, maxBytes: number): SpanRetention =>
    new SpanRetention(
      { spans: { ...loadConfig({}).spans, retentionDays, maxBytes } },
      db(),
      new TraceReads(db()),
    );
  const onDays = (...ago: number[]) =>
    storeSpans(
      db(),
      ago.map((days) => spanRow({ project: 'days', startUs: (Date.now() - days * dayMs - 61_000) * 1_000 })),
    );
  const left = async (): Promise<number> => (await rowsOf('days')).length;
  const daysLeft = async (): Promise<string[]> => {
    const rows = await db().query<{ day: string }[]>(
      'SELECT DISTINCT start_day::text AS day FROM spans ORDER BY 1',
    );
    return rows.map(({ day }) => day);
  };
  const today = (): string => new Date().toISOString().slice(0, 10);

  it('go with their day, attributes and all, once all of it is older than SPANS_RETENTION_DAYS', async () => {
    await onDays(1, 3, 5, 9);
    await retention(4, gigabyte).run();
    expect(await left()).toBe(2);
    const contents = await db().query(`SELECT FROM span_contents WHERE project = 'days'`);
    expect(contents).toHaveLength(2);
  });

  it('go oldest first while all take more than SPANS_MAX_BYTES, but for today, which is refused then', async () => {
    await onDays(0.0001, 1, 2, 3);
    const roomy = retention(30, gigabyte);
    await roomy.run();
    expect(() => roomy.assertRoom()).not.toThrow();
    const tight = retention(30, 1);
    await tight.run();
    expect(() => tight.assertRoom()).toThrow(
      /The spans of today take \d+ bytes .* the cap is 1 \(SPANS_MAX_BYTES\)/,
    );
    expect(await daysLeft()).toEqual([today()]);
  });

  it('of two replicas one drops a day, and neither fails', async () => {
    await onDays(8, 9);
    await Promise.all([retention(7, gigabyte).run(), retention(7, gigabyte).run()]);
    expect(await daysLeft()).toEqual([today()]);
  });
});

describe('a span on its way to the database', () => {
  const settings = { connectTimeoutMs: 5_000, queryTimeoutMs: 30_000 };
  const record = (fields: Partial<SpanRow>) => {
    const start = spanRow({ project: 'sunk', ...fields });
    return { id: start.spanId, start, end: {} };
  };

  it('comes to a day that was dropped a moment ago', async () => {
    const sink = new SpanSink({ url: database.url, ...settings });
    const at = (Date.now() - 3 * 86_400_000) * 1_000;
    try {
      await sink.insert([record({ spanId: 'a', startUs: at })]);
      await db().query(`DROP TABLE spans_${startDayOf({ startUs: at }).replaceAll('-', '')}`);
      await db().query(`DROP TABLE span_contents_${startDayOf({ startUs: at }).replaceAll('-', '')}`);
      const again = sink.insert([record({ spanId: 'b', startUs: at })]);
      await expect(again.catch((error: unknown) => sink.isRecordFault(error))).resolves.toBe(false);
      await sink.insert([record({ spanId: 'b', startUs: at })]);
      expect(await rowsOf('sunk')).toHaveLength(1);
    } finally {
      await sink.close();
    }
  });

  it('that the database refuses is set aside, and holds up no other', async () => {
    const sink = new SpanSink({ url: database.url, ...settings });
    const bad = record({ spanId: 'bad', attributes: '{"no json' });
    try {
      const error: unknown = await sink.insert([record({ spanId: 'c' }), bad]).catch((why: unknown) => why);
      expect(sink.isRecordFault(error)).toBe(true);
      await sink.quarantine(bad, error);
      const [row] = await db().query<{ reason: string; record: string }[]>('SELECT * FROM spans_quarantine');
      expect(row?.reason).toMatch(/invalid input syntax for type json/);
      expect(JSON.parse(row?.record ?? '')).toMatchObject({ spanId: 'bad', attributes: '{"no json' });
    } finally {
      await sink.close();
    }
  });
});
