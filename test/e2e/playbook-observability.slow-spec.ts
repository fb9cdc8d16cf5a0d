import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { canonicalJson } from '../../src/base/common/canonical-json.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver, treeOf } from '../support/otlp-receiver.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

const query = 'pod OOMKilled, exit code 137, memory limit reached';
const prefix = 'holmesgpt_playbook_tool_call';

/** real: the built server, its catalogue, its log, OTLP over HTTP. */
describe('the calls of get_playbooks', () => {
  let db: TestDatabase;
  let folder: string;
  let receiver: OtlpReceiver;
  let server: ServerProcess;

  beforeAll(async () => {
    [db, receiver] = await Promise.all([createTestDatabase(), startOtlpReceiver()]);
    folder = makeTestFolder();
    server = await startServer({
      DATABASE_URL: db.url,
      TOOLKEEPER_DATA_DIR: folder,
      CUSTOM_TOOLS_ENABLED: 'false',
      PLAYBOOKS_DIR: shippedPlaybooks,
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '10',
    });
  });
  afterAll(async () => {
    await server.end('SIGTERM');
    await Promise.all([db.release(), receiver.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  async function call(input: object, investigationId: string): Promise<{ status: number; body: Json }> {
    const answer = await fetch(`${server.url}/api/v1/tools/get_playbooks/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input, context: { investigationId } }),
    });
    return { status: answer.status, body: await answer.json() };
  }

  const scrape = async (name: string): Promise<string[]> => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return text.split('\n').filter((line) => line.startsWith(name));
  };

  const entriesOf = (investigation: string): Json[] =>
    server
      .log()
      .split('\n')
      .filter((line) => line.includes('"playbook_tool_call"'))
      .map((line) => JSON.parse(line))
      .filter((entry) => entry.investigation_id === investigation);

  it('test_logging_format: are logged as JSON with sizes and hashes, and no contents', async () => {
    const { body } = await call({ query }, 'inv-log');
    await call({ query }, 'inv-log');
    await until(() => entriesOf('inv-log').length === 2, { what: 'both lines' });
    const [first, again] = entriesOf('inv-log');
    const hash = createHash('sha256').update(canonicalJson({ query })).digest('hex');
    expect(first).toEqual({
      level: 'info',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      req: { id: expect.any(String) },
      event: 'playbook_tool_call',
      tool: 'get_playbooks',
      investigation_id: 'inv-log',
      execution_id: body.executionId,
      parameters_hash: hash,
      trace_id: expect.stringMatching(/^[\da-f]{32}$/),
      result_size: Buffer.byteLength(JSON.stringify(body.result)),
      duration_seconds: expect.any(Number),
      status: 'success',
      cached: false,
      msg: 'playbook tool call',
    });
    expect(again).toMatchObject({ level: 'debug', cached: true, parameters_hash: hash, status: 'success' });
    expect(server.log()).not.toContain('exit code 137');
  });

  it('tell the log and the LLM why they were refused', async () => {
    const { status, body } = await call({ query, limit: 11 }, 'inv-refused');
    expect(status).toBe(422);
    expect(body.fallback).toEqual({
      error: expect.stringContaining('input/limit'),
      fallback: 'continue_without_context',
    });
    await until(() => entriesOf('inv-refused').length === 1, { what: 'the line' });
    expect(entriesOf('inv-refused')[0]).toMatchObject({
      level: 'warn',
      status: 'refused',
      error_type: 'invalid_input',
      result_size: Buffer.byteLength(JSON.stringify(body.fallback)),
      parameters_hash: expect.any(String),
    });
  });

  it('test_metrics_endpoint, test_metrics_recording, test_metrics_labels: are in /metrics, in the format that Prometheus scrapes', async () => {
    const before = await scrape(`${prefix}_total{status="refused"`);
    expect((await call({ query: '' }, 'inv-metrics')).status).toBe(422);
    expect(before).toEqual([`${prefix}_total{status="refused"} 1`]);
    expect(await scrape(`${prefix}_total{status="refused"`)).toEqual([`${prefix}_total{status="refused"} 2`]);
    expect(await scrape(`${prefix}_errors_total`)).toEqual([
      `${prefix}_errors_total{type="invalid_input"} 2`,
    ]);
    expect(await scrape(`${prefix}_duration_seconds_count`)).toEqual([`${prefix}_duration_seconds_count 1`]);
    expect(await scrape(`${prefix}_rate`)).toEqual([`${prefix}_rate 1`]);
    expect(await scrape(`${prefix}_cache_hit_rate`)).toEqual([`${prefix}_cache_hit_rate 0.5`]);
  });

  it('test_metrics_cardinality: make no series of their own, whatever is asked by whom', async () => {
    const series = async (): Promise<string[]> =>
      (await scrape(prefix)).map((line) => line.replace(/ \S+$/, '')).sort();
    const before = await series();
    for (let n = 0; n < 40; n++)
      expect((await call({ query: `${query} ${n}` }, `inv-many-${n}`)).status).toBe(200);
    expect(await series()).toEqual(before);
    expect(before.length).toBeLessThan(50);
  });

  it('are traced: the look at what is kept, the search, its ranking', async () => {
    const { body } = await call({ query: 'node not ready, kubelet stopped posting status' }, 'inv-trace');
    // Spans of earlier calls may still be on their way.
    const isRoot = ({ attributes }: ReceivedSpan): boolean =>
      attributes['toolkeeper.execution_id'] === body.executionId;
    await until(() => receiver.spans.some(isRoot), { what: 'the span of the call' });
    const traceId = receiver.spans.find(isRoot)?.traceId;
    const spans = receiver.spans.filter((span) => span.traceId === traceId);
    expect(treeOf(spans)).toEqual([
      'execute_tool get_playbooks',
      '  cache.lookup',
      '  execution',
      '    playbooks.search',
      '      playbooks.rank',
      '        playbooks.embed',
    ]);
    expect(spans.find(({ name }) => name === 'playbooks.search')?.attributes).toMatchObject({
      'toolkeeper.playbooks.source': 'catalogue',
      'toolkeeper.playbooks.limit': 5,
      'toolkeeper.playbooks.found': expect.any(Number),
    });
  });
});
