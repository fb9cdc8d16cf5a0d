import fc from 'fast-check';
import { SqlValues } from '../../src/base/database/statement.js';
import { conditionOf } from '../../src/records/spans/reads/span-filter.sql.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { knownTexts, rawSpans } from '../support/raw-spans.js';
import { writeSpans } from '../support/sent-spans.js';
import { expectedSummary } from '../support/trace-oracle.js';

// real: PostgreSQL, the insert of ingest; mock: nothing

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.release());

describe('5,000 spans', () => {
  it('are summed as a reference sums them that reads what was sent', async () => {
    const reads = new TraceReads(database.dataSource);
    for (const [at, spans] of fc.sample(rawSpans(5_000, 5_000), 5).entries()) {
      await writeSpans(database.dataSource, `p${at}`, spans);
      expect(await reads.summary({ project: `p${at}` })).toEqual(expectedSummary(spans, knownTexts));
    }
  });

  it.each([
    [{ traceIds: ['t'], spanIds: ['s'] }, 'trace_id'],
    [{ runIds: ['run-none'] }, 'run_id'],
    [{ threadIds: ['thread-none'] }, 'thread_id'],
    [{ labels: ['label-none'] }, 'label'],
  ])('are not all read for some of them: %j', async (filter, column) => {
    const values = new SqlValues();
    const text = `EXPLAIN SELECT * FROM all_spans WHERE ${conditionOf({ project: 'p0', ...filter }, values)}`;
    await database.dataSource.query('ANALYZE spans');
    const plan: { 'QUERY PLAN': string }[] = await database.dataSource.query(text, values.all);
    const lines = plan.map((line) => line['QUERY PLAN']);
    expect(lines.filter((line) => /Seq Scan on spans_/.test(line))).toEqual([]);
    expect(lines.some((line) => /Index Cond/.test(line) && line.includes(column))).toBe(true);
  });
});
