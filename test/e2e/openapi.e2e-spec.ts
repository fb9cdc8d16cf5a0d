import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, createClient, createConfig } from '../../client/client/index.js';
import * as api from '../../client/sdk.gen.js';
import { createDocument } from '../../src/edge/http/create-app.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { OpenApi } from '../support/openapi.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { until } from '../support/wait.js';

const root = join(__dirname, '..', '..');
let tk: TestApp;
let document: Json;
let described: OpenApi;

beforeAll(async () => {
  tk = await startApp({
    CUSTOM_TOOLS_DIR: join(root, 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
    SANDBOX_GRANTABLE_PATHS: '/var/log',
    // An example limits the processor, which not every host can enforce.
    SANDBOX: 'best-effort',
  });
  document = (await tk.http.get('/openapi.json').expect(200)).body;
  described = new OpenApi(document);
});

afterAll(async () => {
  await tk.close();
});

describe('the OpenAPI document', () => {
  it('lists every route with a summary, an id, a tag and its problem answers', () => {
    const listed = described.operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(listed).toEqual(
      expect.arrayContaining([
        'POST /api/v1/tools/{name}/execute',
        'POST /api/v1/custom-tools/{name}/test',
        'GET /api/v1/tool-metrics/stats/{tool}',
        'GET /api/v1/tool-health/dashboard',
        'PATCH /api/v1/investigations/{id}',
        'GET /api/v1/playbooks/search',
        'GET /readyz',
        'GET /metrics',
      ]),
    );
    for (const { method, path, operation } of described.operations()) {
      const where = `${method} ${path}`;
      expect([where, operation.summary, operation.operationId, operation.tags]).toEqual([
        where,
        expect.any(String),
        expect.any(String),
        [expect.any(String)],
      ]);
      if (!path.startsWith('/api/')) continue;
      const problems = Object.keys(operation.responses).filter((status) => Number(status) >= 400);
      expect([where, problems.length > 0]).toEqual([where, true]);
    }
  });

  it('holds each shape of answers and bodies: of two with one name it would hold one', () => {
    const shape = /^(?:export )?class (\w+(?:View|Body))\b/gm;
    const files = globSync('src/**/*.ts', { cwd: root }).map((file) =>
      readFileSync(join(root, file), 'utf8'),
    );
    const names = files.flatMap((text) => [...text.matchAll(shape)].map(([, name]) => name));
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('is docs/openapi.json, which is as the decorators say: npm run client', () => {
    const kept = readFileSync(join(root, 'docs', 'openapi.json'), 'utf8');
    expect(document).toEqual(JSON.parse(kept));
    const drawn = createDocument(tk.app);
    expect(JSON.parse(JSON.stringify(drawn))).toEqual(document);
    // In the same order, whatever imports what.
    expect(`${JSON.stringify(drawn, null, 2)}\n` === kept).toBe(true);
  });

  it('shows that a call can stream, where it can', () => {
    for (const path of ['/api/v1/tools/{name}/execute', '/api/v1/custom-tools/{name}/test']) {
      const { content } = document.paths[path].post.responses[200];
      expect(Object.keys(content)).toEqual(['application/json', 'text/event-stream']);
      expect(content['text/event-stream'].example).toMatch(
        /event: progress\n.*event: log\n.*event: outcome\n/s,
      );
    }
  });

  it('serves Swagger UI', async () => {
    const { text } = await tk.http.get('/docs').expect(200);
    expect(text).toContain('swagger-ui');
    await tk.http.get('/docs/swagger-ui-bundle.js').expect(200);
  });
});

describe('the generated client', () => {
  let client: Client;
  beforeAll(() => {
    client = createClient(createConfig({ baseUrl: tk.url, headers: tk.key }));
  });

  it('registers a tool, calls it, reads what is recorded and judged, and removes it', async () => {
    const name = 'by_client';
    const args = [join(fixtures, 'fixture-tool.mjs')];
    const made = await api.registerCustomTool({
      client,
      body: { name, command: 'node', args, keepAlive: true },
    });
    expect([made.response?.status, made.data]).toEqual([
      201,
      expect.objectContaining({ name, status: 'active' }),
    ]);
    const called = await api.executeTool({ client, path: { name }, body: { input: { text: 'ü' } } });
    expect(called.data).toMatchObject({ status: 'success', result: { text: 'ü' } });
    const { data: stats } = await api.getToolStats({ client, path: { tool: name } });
    expect(stats).toMatchObject({ toolName: name, totalCalls: 1, successRate: 1 });
    const { data: health } = await api.getToolHealth({ client, path: { tool: name } });
    expect(health).toMatchObject({ status: 'unknown', totalCalls: 1 });
    const { data: circuit } = await api.getCircuit({ client, path: { tool: name } });
    expect(circuit?.state).toBe('closed');
    const changed = await api.updateCustomTool({ client, path: { name }, body: { timeoutMs: 5_000 } });
    expect(changed.data).toMatchObject({ timeoutMs: 5_000, revision: 2 });
    const { data: revisions } = await api.listCustomToolRevisions({ client, path: { name } });
    expect(revisions?.data.map(({ revision }) => revision)).toEqual([2, 1]);
    expect((await api.removeCustomTool({ client, path: { name } })).response?.status).toBe(204);
  });

  it('gives problems as errors, with their type', async () => {
    const { error, data } = await api.executeTool({
      client,
      path: { name: 'get_playbooks' },
      body: { input: { query: 5 } },
    });
    expect([data, error?.code, error?.errors?.[0]?.pointer]).toEqual([
      undefined,
      'invalid_input',
      '/input/query',
    ]);
  });

  it('follows a stream', async () => {
    const over = new AbortController();
    const headers = { accept: 'text/event-stream' };
    const { stream } = await client.sse.get({ url: '/api/v1/events', headers, signal: over.signal });
    let heard: unknown;
    void stream.next().then(({ value }) => (heard = value));
    const circuit = { client, path: { tool: 'get_playbooks' }, body: {} };
    await until(
      async () => {
        await api.openCircuit(circuit);
        await api.closeCircuit(circuit);
        return heard;
      },
      { what: 'an event' },
    );
    expect(heard).toMatchObject({ tool: 'get_playbooks' });
    over.abort();
  });
});
