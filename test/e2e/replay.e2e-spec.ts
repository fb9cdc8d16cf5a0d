import { ToolMetricsService } from '../../src/records/executions/tool-metrics.service.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';

// real: the whole server, PostgreSQL, the journal and its thread, tools' processes; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
  await tk.register('all', {
    ...{ capture: 'all', keepAlive: true },
    env: { TOOL_TOKEN: 'hush-hush-hush', TOOL_MODE: 'first' },
  });
  await tk.register('failing', { capture: 'failures', keepAlive: true });
  await tk.register('plain', { keepAlive: true });
});
afterAll(() => tk.close());

const run = async (tool: string, input: object): Promise<string> =>
  (await tk.call(tool, input).expect(200)).body.executionId;
const at = (id: string): string => `/api/v1/tool-metrics/executions/${id}`;
const payload = async (id: string): Promise<Json> =>
  (await tk.http.get(`${at(id)}/payload`).expect(200)).body;
const replay = (id: string, body: object = {}) => tk.http.post(`${at(id)}/replay`).send(body);

describe('what is captured', () => {
  it('is input and result, without the secrets of the tool', async () => {
    const id = await run('all', { a: [1, 'ü\u0000'], token: 'x hush-hush-hush y' });
    expect(await payload(id)).toEqual({
      executionId: id,
      input: { a: [1, 'ü\u0000'], token: 'x [secret TOOL_TOKEN] y' },
      result: { a: [1, 'ü\u0000'], token: 'x [secret TOOL_TOKEN] y' },
      ...{ omitted: [], redacted: true, keptUntil: expect.any(String) },
    });
    const env = await payload(await run('all', { action: 'env' }));
    expect(env.result).toMatchObject({ TOOL_TOKEN: '[secret TOOL_TOKEN]' });
    expect(env.redacted).toBe(false);
  });

  it('is what failed, of a tool that says so, and nothing of one that says nothing', async () => {
    const failed = await run('failing', { action: 'error', code: -1, message: 'no', data: { why: 5 } });
    expect(await payload(failed)).toMatchObject({
      input: { action: 'error' },
      error: { type: 'tool_error', code: -1, message: 'no', data: { why: 5 } },
    });
    for (const id of [await run('failing', { fine: true }), await run('plain', { action: 'error' })]) {
      const { body } = await tk.http.get(`${at(id)}/payload`).expect(404);
      expect(body.detail).toContain('`capture`');
    }
    await tk.http.get(`${at('nothing')}/payload`).expect(404);
  });

  it('leaves out what is over 64 KiB, and says so', async () => {
    const id = await run('all', { action: 'big', bytes: 70_000 });
    expect(await payload(id)).toMatchObject({ input: { action: 'big' }, omitted: ['result'] });
    const large = await run('all', { text: 'x'.repeat(70_000) });
    const { input, result, omitted } = await payload(large);
    expect([input, result, omitted]).toEqual([undefined, undefined, ['input', 'result']]);
  });

  it('is shown in one line, to those who may see it', async () => {
    const id = await run('all', { text: 'y'.repeat(300) });
    const list = async (http: TestApp['http']): Promise<Json> =>
      (await http.get('/api/v1/tool-metrics/executions?tool=all&limit=1').expect(200)).body.data[0];
    const { metricId, inputPreview } = await list(tk.http);
    expect([metricId, inputPreview]).toEqual([id, `{"text":"${'y'.repeat(191)}`]);
    expect((await tk.http.get(at(id)).expect(200)).body).toMatchObject({ inputPreview });
    expect(await list(tk.anonymous)).not.toHaveProperty('inputPreview');
    expect((await tk.anonymous.get(at(id)).expect(200)).body).not.toHaveProperty('inputPreview');
    await tk.anonymous.get(`${at(id)}/payload`).expect(401);
  });

  it('goes when its time is over', async () => {
    const id = await run('all', { short: 'lived' });
    await payload(id);
    await tk.db.dataSource.query(
      `UPDATE execution_payloads SET recorded_at = now() - interval '169 hours' WHERE metric_id = $1`,
      [id],
    );
    await tk.http.get(`${at(id)}/payload`).expect(404);
    await tk.http.get(at(id)).expect(200);
    const left = async (): Promise<number> =>
      (await tk.db.dataSource.query('SELECT FROM execution_payloads WHERE metric_id = $1', [id])).length;
    expect(await left()).toBe(1);
    await tk.app.get(ToolMetricsService, { strict: false }).deleteOldPayloads();
    expect(await left()).toBe(0);
  });
});

describe('a replay', () => {
  it('runs the captured input again as a test call, and answers both sides', async () => {
    const id = await run('failing', { action: 'error', code: -7, message: 'no' });
    const { body } = await replay(id).expect(200);
    expect(body).toMatchObject({
      outcome: { tool: 'failing', status: 'error', error: { code: -7 } },
      original: { metricId: id, status: 'error', isTest: false },
      payload: { input: { action: 'error' }, error: { code: -7 } },
    });
    expect(body.outcome.executionId).not.toBe(id);
    const { body: record } = await tk.http.get(at(body.outcome.executionId)).expect(200);
    expect(record).toMatchObject({ isTest: true, metadata: { replayOf: id } });
  });

  it('takes another input, also where none was captured', async () => {
    const id = await run('plain', { n: 1 });
    const { body: missing } = await replay(id).expect(400);
    expect(missing.errors[0]).toMatchObject({
      pointer: '/input',
      detail: expect.stringContaining('captured'),
    });
    const { body } = await replay(id, { input: { n: 2 } }).expect(200);
    expect(body).toMatchObject({ outcome: { status: 'success', result: { n: 2 } }, payload: null });
    const secret = await run('all', { token: 'hush-hush-hush' });
    const { body: redacted } = await replay(secret).expect(400);
    expect(redacted.detail).toContain('secret');
  });

  it('runs on an earlier revision, and of a tool that is disabled', async () => {
    const id = await run('all', { action: 'env' });
    await tk.http
      .patch('/api/v1/custom-tools/all')
      .send({ env: { TOOL_MODE: 'second' } })
      .expect(200);
    const modeOf = async (body: object): Promise<string> =>
      (await replay(id, body).expect(200)).body.outcome.result.TOOL_MODE;
    expect(await modeOf({})).toBe('second');
    expect(await modeOf({ revision: 1 })).toBe('first');
    await replay(id, { revision: 99 }).expect(404);
    await tk.http.post('/api/v1/custom-tools/all/disable').expect(200);
    await tk.call('all').expect(404);
    expect(await modeOf({})).toBe('second');
    const { body: tool } = await tk.http.get('/api/v1/custom-tools/all').expect(200);
    expect(tool).toMatchObject({ status: 'inactive', revision: 2, capture: 'all' });
  });

  it.each([
    ['nothing', {}, 404],
    ['nothing', { revision: 0 }, 400],
    ['nothing', { revision: 'x' }, 400],
    ['nothing', { other: 1 }, 400],
  ])('of %s with %j answers %d', async (id, body, status) => {
    await replay(id, body).expect(status);
  });
});
