import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { spanRow, storeSpans } from '../support/spans.js';

// real: PostgreSQL; mock: nothing

let database: TestDatabase;
beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database.drop());

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
