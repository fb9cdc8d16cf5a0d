import { defineTool } from '../../src/web/contract/define-tool.js';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// Real: the whole server, tool processes, the journal and the thread that drains it, PostgreSQL.

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp({ CIRCUIT_MIN_FAILURE_RATE: '0' });
  for (const semanticErrors of ['off', 'show', 'mark'])
    await tk.register(semanticErrors, { keepAlive: true, semanticErrors });
  await tk.register('usual', { keepAlive: true });
});
afterAll(() => tk.close());

/** The record of a call of a tool that answers with its input. */
async function recordOf(tool: string, result: object): Promise<Json> {
  const { body } = await tk.call(tool, result).expect(200);
  expect(body).toMatchObject({ status: 'success', result });
  return (await tk.http.get(`/api/v1/tool-metrics/executions/${body.executionId}`).expect(200)).body;
}

const failed = { error: 'Failed to open /data/x.csv with token=abcdef123456', rows: [] };
const finding = {
  pattern: 'error:',
  severity: 'high',
  snippet: '{"error":"Failed to open /data/x.csv with token=[redacted]","rows":[]}',
};

describe('a successful result that tells of an error', () => {
  it.each(['usual', 'show'])('is shown on its execution, secrets taken out (%s)', async (tool) => {
    const { metadata, semanticFailure, status } = await recordOf(tool, failed);
    expect({ metadata, semanticFailure, status }).toMatchObject({
      metadata: { semanticError: finding },
      semanticFailure: null,
      status: 'success',
    });
  });

  it('is left alone where the tool says off, as is one that tells of none', async () => {
    expect((await recordOf('off', failed)).metadata).not.toHaveProperty('semanticError');
    expect((await recordOf('show', { rows: [1] })).metadata).not.toHaveProperty('semanticError');
  });

  it('is marked where the tool says mark and the answer is nothing else: counted once, and the circuit stays closed', async () => {
    for (let n = 0; n < 6; n++) {
      const { semanticFailure } = await recordOf('mark', failed);
      expect(semanticFailure).toBe(finding.snippet);
    }
    // A severe pattern in a text about errors, and a suggestion.
    const about = { matches: [{ line: 3, text: 'Error: boom' }], total: 1 };
    expect(await recordOf('mark', about)).toMatchObject({
      semanticFailure: null,
      metadata: { semanticError: { severity: 'high' } },
    });
    const suggested = await recordOf('mark', { message: 'User 7 not found' });
    expect(suggested).toMatchObject({
      semanticFailure: null,
      metadata: { semanticError: { pattern: 'not found', severity: 'medium' } },
    });
    const { body: health } = await tk.http.get('/api/v1/tool-health/mark').expect(200);
    expect(health).toMatchObject({ status: 'healthy', totalCalls: 8, successRate: 1, semanticFailures: 6 });
    const { body: circuit } = await tk.http.get('/api/v1/tool-health/mark/circuit').expect(200);
    expect(circuit.state).toBe('closed');
  });

  it('is found in what a built-in tool answers, and in the first 64 KiB alone', async () => {
    const report = defineTool<{ lead: number }>({
      name: 'report',
      description: 'Fails under status success',
      semanticErrors: 'mark',
      input: { type: 'object', properties: { lead: { type: 'integer' } } },
      run: async ({ lead }) => `${'- '.repeat(lead)}Error: no such report`,
    });
    tk.app.get(ToolRegistry).register(report);
    const read = async (lead: number): Promise<Json> => {
      const { body } = await tk.call('report', { lead }).expect(200);
      return (await tk.http.get(`/api/v1/tool-metrics/executions/${body.executionId}`).expect(200)).body;
    };
    expect((await read(0)).semanticFailure).toBe('"Error: no such report"');
    expect((await read(32_000)).metadata.semanticError).toBeDefined();
    expect((await read(33_000)).metadata.semanticError).toBeUndefined();
  });

  it('is a setting of the tool with revisions of its own', async () => {
    const path = '/api/v1/custom-tools/usual';
    expect((await tk.http.get(path).expect(200)).body.semanticErrors).toBe('show');
    const { body } = await tk.http.patch(path).send({ semanticErrors: 'mark' }).expect(200);
    expect(body).toMatchObject({ semanticErrors: 'mark', revision: 2 });
    const back = await tk.http.post(`${path}/rollback`).send({ revision: 1 }).expect(200);
    expect(back.body.semanticErrors).toBe('show');
    const wrong = await tk.http.patch(path).send({ semanticErrors: 'loud' }).expect(400);
    expect(wrong.body.errors[0].pointer).toBe('/semanticErrors');
  });
});

describe("a client's own span of a call", () => {
  let spans = 0;
  /** Sends the span of a tool's call, with a key or as somebody without one. */
  async function tell(executionId: string, result: unknown, http = tk.http, key = ''): Promise<void> {
    const now = Date.now() * 1_000;
    await http
      .post('/api/v1/spans')
      .set(key === '' ? {} : { authorization: `Bearer ${key}` })
      .send({
        trace_id: 'told',
        span_id: `told-${++spans}`,
        operation_name: 'tool_call',
        start_time_us: now - 1_000,
        finish_time_us: now,
        attribute: { 'toolkeeper.execution_id': executionId, output: JSON.stringify(result) },
      })
      .expect(200);
  }
  const called = async (tool: string): Promise<string> =>
    (await tk.call(tool, { rows: [] }).expect(200)).body.executionId;
  const reason = async (id: string): Promise<unknown> =>
    (await tk.http.get(`/api/v1/tool-metrics/executions/${id}`).expect(200)).body.semanticFailure;
  const marks = async (tool: string): Promise<number> =>
    (await tk.http.get(`/api/v1/tool-health/${tool}`).expect(200)).body.semanticFailures;
  /** Spans are looked at in the order in which they came. */
  const lookedAt = async (): Promise<void> => {
    const last = await called('mark');
    await tell(last, failed);
    await until(async () => (await reason(last)) !== null, { what: 'the mark' });
  };

  it('marks its execution once, however often it comes', async () => {
    const before = await marks('mark');
    const id = await called('mark');
    for (let n = 0; n < 3; n++) await tell(id, failed);
    await lookedAt();
    expect(await reason(id)).toBe(finding.snippet);
    expect(await marks('mark')).toBe(before + 2);
  });

  it('marks nothing that came with another key, of another tool, or that is no report of a failure', async () => {
    const key = { name: 'other', scopes: ['traces:write', 'tools:call'] };
    const { body: other } = await tk.http.post('/api/v1/keys').send(key).expect(201);
    const mine = await called('mark');
    await tell(mine, failed, tk.anonymous, other.key);
    await tell(mine, failed, tk.anonymous);
    await tell(mine, { matches: [{ line: 3, text: 'Error: boom' }], total: 1 });
    await tell(mine, { message: 'User 7 not found' });
    const elsewhere = await Promise.all(['show', 'off'].map(called));
    for (const id of elsewhere) await tell(id, failed);
    // Executions that there are not.
    const foreign = ['01a20dcb-b953-77e5-b8d1-a24ad92ddcd3', 'ffffffff-ffff-7fff-8fff-ffffffffffff'];
    for (const id of foreign) await tell(id, failed);
    await lookedAt();
    expect(await Promise.all([mine, ...elsewhere].map(reason))).toEqual([null, null, null]);
  });
});
