import fc from 'fast-check';
import { newId } from '../../src/common/ids.js';
import { insertBatch } from '../../src/tool-metrics/batch-insert.js';
import { latencyBucket } from '../../src/tool-metrics/rollups/latency-histogram.js';
import { minutesOfRows, rollUp } from '../../src/tool-metrics/rollups/rollup.sql.js';
import { newToolMetric, type ToolMetric } from '../../src/tool-metrics/tool-metric.entity.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

/** real: PostgreSQL, both ways in which executions are counted: by the sender, and by the database */
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const noon = Date.UTC(2026, 0, 15, 12);
const anyText = fc.oneof(
  fc.constantFrom('tool_error', '', ' ', 'a"b\\c', '{x,y}', 'NULL', 'x\0y'),
  fc.string({ unit: 'grapheme', maxLength: 120 }),
  fc.string({ unit: fc.constantFrom('\u{1F600}', 'é'), minLength: 95, maxLength: 105 }),
);
const metrics = fc.array(
  fc.record({
    toolName: fc.constantFrom('a', 'b', 'ä "quoted"'),
    status: fc.oneof(fc.constantFrom('success', 'error', 'timeout'), anyText),
    errorType: fc.oneof(fc.constant(null), anyText),
    executionTimeMs: fc.oneof(fc.nat(40), fc.nat(2_147_483_647), fc.constantFrom(-1, 0.4, 1e12)),
    inputSize: fc.nat(2_147_483_647),
    outputSize: fc.nat(2_147_483_647),
    isTest: fc.boolean(),
    recordedAt: fc.integer({ min: -90_000, max: 90_000 }).map((off) => new Date(noon + off)),
  }),
  { minLength: 1, maxLength: 40 },
);

const cells = async (): Promise<unknown[]> => {
  const rows: unknown = await database.dataSource.query(`
    SELECT seconds, starts_at, tool_name, status, error_type, is_test, calls, total_ms, min_ms, max_ms, input_bytes,
           output_bytes, semantic_failures, last_at, executions_by_bucket
    FROM tool_metric_rollups, LATERAL (
      SELECT array_agg(entry ORDER BY entry) AS executions_by_bucket
      FROM generate_series(0, length(latency) / 4 - 1) AS i,
      LATERAL (SELECT encode(substr(metric_latency_compacted(latency), 4 * i + 1, 4), 'hex') AS entry) AS entries
    ) AS histogram
    ORDER BY 1, 2, 3, 4, 5, 6`);
  return rows as unknown[];
};

describe('executions counted by whoever sends them', () => {
  it('are the cells that the database counts from the rows', async () => {
    await fc.assert(
      fc.asyncProperty(metrics, async (drawn) => {
        await database.dataSource.query('DELETE FROM tool_metrics; DELETE FROM tool_metric_rollups');
        const batch: ToolMetric[] = drawn.map((metric) =>
          newToolMetric({ ...metric, metricId: newId(metric.recordedAt.getTime()) }),
        );
        await insertBatch(database.dataSource, batch, 0);
        const sent = await cells();
        await database.dataSource.query('DELETE FROM tool_metric_rollups');
        await database.dataSource.query(rollUp(minutesOfRows('tool_metrics'), '0'));
        expect(sent).toEqual(await cells());
      }),
      { numRuns: 60, seed: 20_779 },
    );
  });

  it('lie in the same buckets, at every edge of one', async () => {
    const edges = Array.from({ length: 549 }, (_, bucket) => Math.ceil(1.04 ** bucket));
    const durations = [...new Set(edges.flatMap((edge) => [edge - 1, edge, edge + 1]))].filter(
      (duration) => duration < 2 ** 31,
    );
    const [row] = await database.dataSource.query<{ buckets: number[] }[]>(
      'SELECT array_agg(metric_latency_bucket(ms) ORDER BY at) AS buckets FROM unnest($1::int[]) WITH ORDINALITY AS of (ms, at)',
      [durations],
    );
    expect(row?.buckets).toEqual(durations.map(latencyBucket));
    expect(durations.length).toBeGreaterThan(1_000);
  });
});
