import { startApp, type TestApp } from '../support/app.js';
import { DataStorageServer } from '../support/data-storage.js';
import type { Json } from '../support/json.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { until } from '../support/wait.js';

/** Client and handler as one, with a Data Storage service in a process of its own. */
let service: DataStorageServer;
let tk: TestApp;

/** The reason is part of what an LLM reads. */
const fallbackFor = (reason: string) => ({
  error: `Playbook search is not available (${reason})`,
  fallback: 'continue_without_context',
});

beforeAll(async () => {
  service = await DataStorageServer.start();
});
beforeEach(async () => {
  await service.behave('ok');
  await service.forget();
});
afterAll(() => service.stop());

/** Its own server for each group: circuits and caches begin anew. */
const withServer = (variables: Record<string, string> = {}, dataStorage: object = {}): void => {
  beforeAll(async () => {
    tk = await startApp(
      { DATA_STORAGE_URL: service.url, ...variables },
      { dataStorage: { timeoutMs: 30_000, deadlineMs: 120_000, pauseMs: 5, ...dataStorage } },
    );
  });
  afterAll(() => tk.close());
};

const find = async (input: object, context: object = {}): Promise<Json> =>
  (await tk.call('get_playbooks', input, { ...context }).expect(200)).body;

describe('get_playbooks with a Data Storage service', () => {
  withServer();

  it('test_real_data_storage_call: answers four fields of each playbook', async () => {
    const body = await find({ query: 'OOMKilled: memory limit' });
    expect(body).toMatchObject({ status: 'success', cached: false });
    expect(Object.keys(body.result)).toEqual(['playbooks', 'total_results']);
    for (const playbook of body.result.playbooks) {
      expect(Object.keys(playbook)).toEqual(['playbook_id', 'version', 'description', 'confidence']);
    }
    expect(body.result.total_results).toBe(body.result.playbooks.length);
  });

  it('test_end_to_end_tool_call: parses, asks and formats', async () => {
    const { result } = await find({
      query: 'cascading failure, timeouts',
      similarity_threshold: 0.5,
      limit: 1,
    });
    expect(result).toEqual({
      playbooks: [
        {
          playbook_id: 'cascading-failure-shed-load',
          version: '1.0.0',
          description: 'Sheds load at the edge while one service after the other runs into time-outs.',
          confidence: 1,
        },
      ],
      total_results: 1,
    });
    const [request] = await service.requests();
    expect(new URL(request?.url ?? '', service.url).search).toBe(
      '?query=cascading+failure%2C+timeouts&min_confidence=0.5&max_results=1',
    );
  });

  it('test_tool_call_with_real_data_storage: an LLM platform gets its answer in its own form, minified', async () => {
    const { body } = await tk.http
      .post('/api/v1/tools/get_playbooks/execute')
      .send({
        input: { query: 'OOMKilled memory leak: heap grows' },
        context: { labels: { environment: 'staging' } },
      })
      .expect(200);
    const text = JSON.stringify(body.result);
    expect(text).not.toMatch(/\s{2}|"(ctx|sim|pat|succ)"|risk_level|labels/);
    expect(body.result.playbooks[0].playbook_id).toBe('oomkill-find-leak');
  });

  it("takes labels from the call's context, and none from the LLM", async () => {
    const query = 'cascading failure, timeouts, retries';
    const inTest = await find({ query }, { labels: { environment: 'test' } });
    expect(inTest.result).toEqual({ playbooks: [], total_results: 0 });
    const inProduction = await find({ query }, { labels: { environment: 'production' } });
    expect(inProduction.result.total_results).toBe(1);
    const input = { query, labels: { environment: 'production' } };
    const { body } = await tk.call('get_playbooks', input, { labels: { environment: 'test' } }).expect(422);
    expect(body).toMatchObject({
      code: 'invalid_input',
      fallback: { ...fallbackFor(''), error: 'input/labels is not a known field' },
    });
  });

  it('test_cache_miss, test_cache_hit: asks the service once, and keeps the result for an hour', async () => {
    const first = await find({ query: 'OOMKilled memory' }, { investigationId: 'inv-a' });
    const again = await find(
      { query: 'OOMKilled memory', limit: 5, similarity_threshold: 0.7 },
      { investigationId: 'inv-b' },
    );
    expect(first.cached).toBe(false);
    expect(again).toEqual({ ...first, cached: true });
    expect((await service.requests()).length).toBe(1);
  });

  it('asks once for many who ask the same at once', async () => {
    await service.behave('slow', { delayMs: 200 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => find({ query: 'asked by a hundred: memory oomkilled' })),
    );
    expect(answers.filter(({ cached }) => !cached)).toHaveLength(1);
    expect((await service.requests()).length).toBe(1);
  });

  it('test_rate_limiting: ten calls an investigation, cached ones included', async () => {
    const context = { investigationId: 'inv-limit' };
    for (let n = 0; n < 10; n++) await find({ query: `OOMKilled ${n % 2}` }, context);
    const { body } = await tk.call('get_playbooks', { query: 'OOMKilled 0' }, context).expect(429);
    expect(body).toMatchObject({
      code: 'investigation_budget_spent',
      fallback: {
        ...fallbackFor(''),
        error: expect.stringContaining('Max 10 get_playbooks calls per investigation'),
      },
    });
  });

  it('offers get_context, which knows of earlier incidents', async () => {
    const { body } = await tk
      .call('get_context', { alert_fingerprint: 'abc', context_types: ['patterns'] })
      .expect(200);
    expect(body.result).toEqual({
      similar_incidents: [expect.objectContaining({ alert_fingerprint: 'abc' })],
      patterns: { recurrence: 'every Monday' },
      success_rates: { 'oomkill-find-leak': 0.92 },
    });
    await tk.call('get_context', {}).expect(422);
    await service.behave('server_error');
    const failed = await tk.call('get_context', { alert_fingerprint: 'unknown' }).expect(200);
    expect(failed.body).toMatchObject({
      status: 'error',
      error: { type: 'upstream_unavailable' },
      result: {
        error: 'Historical context is not available (server error)',
        fallback: 'continue_without_context',
      },
    });
  });
});

describe('a Data Storage service that is not available', () => {
  withServer();

  it('test_data_storage_unavailable: the LLM reads that it can go on; then the service is left alone', async () => {
    await service.behave('refused');
    for (const [query, reason] of [
      ['first', 'unreachable'],
      ['second', 'unreachable'],
    ] as const) {
      const body = await find({ query });
      expect(body).toMatchObject({
        status: 'error',
        error: { type: 'upstream_unavailable', message: fallbackFor(reason).error },
        result: fallbackFor(reason),
      });
    }
    await service.behave('ok');
    expect(await find({ query: 'third' })).toMatchObject({
      status: 'error',
      result: fallbackFor('circuit open'),
    });
    expect(await service.requests()).toEqual([]);
  });

  it('is no fault of the tool: its own circuit stays closed, and its health shows the errors', async () => {
    for (let n = 0; n < 6; n++) await find({ query: `fails ${n}` });
    const { body } = await tk.http.get('/api/v1/tool-health/get_playbooks/circuit').expect(200);
    expect(body).toMatchObject({ state: 'closed' });
    await until(
      async () => (await tk.http.get('/api/v1/tool-metrics/stats/get_playbooks')).body.errorCount >= 8,
      { what: 'the errors in the statistics' },
    );
  });
});

describe('a Data Storage service with a slow body', () => {
  withServer({}, { timeoutMs: 100 });

  it('is tried four times, and then the LLM goes on', async () => {
    await service.behave('drip');
    const body = await find({ query: 'OOMKilled memory' });
    expect(body).toMatchObject({
      status: 'error',
      error: { type: 'upstream_unavailable' },
      result: fallbackFor('timeout'),
    });
    const { text } = await tk.http.get('/metrics').expect(200);
    expect(text).toContain('toolkeeper_data_storage_tries_total{result="timeout"} 4\n');
    // A try whose time was up before it was connected does not arrive.
    expect((await service.requests()).length).toBeLessThanOrEqual(4);
  });

  it('does not hold a caller beyond the time that it grants', async () => {
    await service.behave('drip');
    const { body } = await tk.call('get_playbooks', { query: 'in a hurry' }, { timeoutMs: 50 }).expect(200);
    expect(body).toMatchObject({ status: 'error', error: { type: 'upstream_unavailable' } });
  });
});

describe('answers that have become old', () => {
  withServer({ PLAYBOOK_CACHE_TTL_MS: '50' });

  it('are given while the service fails, but are not kept as new ones', async () => {
    const query = { query: 'OOMKilled memory' };
    const first = await find(query);
    await service.behave('unavailable');
    const stale = await until(
      async () => {
        const found = await find(query);
        return !found.cached && found;
      },
      { what: 'the answer to be old' },
    );
    expect(stale).toMatchObject({ status: 'success', result: first.result });
    expect(stale.executionId).not.toBe(first.executionId);
    const again = await find(query);
    expect(again).toMatchObject({ status: 'success', cached: false, result: first.result });
    expect(again.executionId).not.toBe(stale.executionId);
    const row = await until(
      async () => {
        const { status, body } = await tk.http.get(`/api/v1/tool-metrics/executions/${stale.executionId}`);
        return status === 200 && body;
      },
      { what: 'its row' },
    );
    expect(row.metadata).toMatchObject({ stale: true });
  });
});

describe('without a Data Storage service', () => {
  beforeAll(async () => {
    tk = await startApp({ PLAYBOOKS_DIR: shippedPlaybooks });
  });
  afterAll(() => tk.close());

  it('playbooks come from the catalogue, and get_context is not offered', async () => {
    expect(await find({ query: 'OOMKilled' })).toMatchObject({ status: 'success' });
    await tk.call('get_context', { alert_fingerprint: 'abc' }).expect(404);
    expect(await service.requests()).toEqual([]);
  });
});
