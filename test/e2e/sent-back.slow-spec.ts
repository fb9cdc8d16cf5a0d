import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { query } from '../support/test-server.js';
import { McpHttpServer } from '../support/mcp-http-server.js';

// real: the whole server, HTTP, tools' processes; mock: the MCP server behind a URL

let tk: TestApp;
let upstream: McpHttpServer;
beforeAll(async () => {
  tk = await startApp();
  upstream = await McpHttpServer.start();
});
afterAll(async () => {
  await tk.close();
  await upstream.stop();
});

const made: Record<string, () => Promise<string>> = {
  'a custom tool': async () => {
    await tk.register('plain', { env: { TOKEN: 'secret' }, tags: ['a'], metadata: { team: 'x' } });
    return '/api/v1/custom-tools/plain';
  },
  'an MCP server behind a URL': async () => {
    const url = `${upstream.url('/json')}?token=secret`;
    await tk.http.post('/api/v1/custom-tools').send({ name: 'remote', protocol: 'mcp', url }).expect(201);
    return '/api/v1/custom-tools/remote';
  },
  'a key': async () => {
    const { body } = await tk.http
      .post('/api/v1/keys')
      .send({ name: 'agent', scopes: ['tools:call'] })
      .expect(201);
    return `/api/v1/keys/${body.id}`;
  },
  'an experiment': async () => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    const { body } = await tk.http
      .post('/api/v1/experiments')
      .send({ name: 'e', original_request: request })
      .expect(201);
    return `/api/v1/experiments/${body.id}`;
  },
  'an investigation': async () => {
    await tk.http
      .patch('/api/v1/investigations/inv-1')
      .send({ tools: { plain: 5 } })
      .expect(200);
    return '/api/v1/investigations/inv-1';
  },
};

it.each(Object.keys(made))(
  '%s: what GET shows can be sent back by PATCH, and changes nothing',
  async (what) => {
    const path = (await made[what]?.()) ?? '';
    const moving = ['updatedAt', 'updated_at', 'lastHealthCheck', 'revision'];
    const settled = (view: Json): Json =>
      Object.fromEntries(Object.entries(view).filter(([name]) => !moving.includes(name)));
    const { body: before } = await tk.http.get(path).expect(200);
    await tk.http.patch(path).send(before).expect(200);
    const { body: after } = await tk.http.get(path).expect(200);
    expect(settled(after)).toEqual(settled(before));
    expect(JSON.stringify(before)).not.toContain('secret');
    // A misspelt member is still refused.
    await tk.http
      .patch(path)
      .send({ ...before, nmae: 'x' })
      .expect(400);
  },
);

it('a URL keeps the values of its query when it is sent back without them', async () => {
  const { body: tool } = await tk.http.get('/api/v1/custom-tools/remote').expect(200);
  expect(tool.url).toMatch(/\?token=\*\*\*$/);
  const rows = await query(tk.db.url, `SELECT url FROM custom_tools WHERE name = 'remote'`);
  expect(rows[0]?.['url']).toMatch(/\?token=secret$/);
});

describe('metadata', () => {
  it('has at most 16 KiB, at registration and change', async () => {
    await tk.register('meta', { metadata: { note: 'x'.repeat(16_000) } });
    const large = { note: 'x'.repeat(17_000) };
    for (const asked of [
      tk.http.patch('/api/v1/custom-tools/meta').send({ metadata: large }),
      tk.http.post('/api/v1/custom-tools').send({ name: 'm2', command: 'node', metadata: large }),
    ])
      expect((await asked.expect(400)).body.errors).toEqual([
        { pointer: '/metadata', detail: expect.stringContaining('16384 bytes') },
      ]);
  });

  it('stands not in lists', async () => {
    const { body } = await tk.http.get('/api/v1/custom-tools').expect(200);
    for (const tool of body.data) expect(tool).not.toHaveProperty('metadata');
    const { body: one } = await tk.http.get('/api/v1/custom-tools/meta').expect(200);
    expect(one.metadata.note).toHaveLength(16_000);
  });
});

it('a playbook’s status is changed by what GET shows, with what the change needs', async () => {
  const playbook = { playbook_id: 'restart', version: '1.0.0', name: 'Restart', description: 'Restarts' };
  await tk.http
    .post('/api/v1/playbooks')
    .send({ ...playbook, owner: 'ops', content: 'kind: x', labels: {} })
    .expect(201);
  const path = '/api/v1/playbooks/restart/1.0.0';
  const changes = {
    disable: { disabled_by: 'dora', disabled_reason: 'wrong' },
    enable: { enabled_by: 'dora' },
    deprecate: { deprecated_by: 'dora', deprecation_notice: 'use another' },
    archive: { archived_by: 'dora', archived_reason: 'gone' },
  };
  for (const [act, change] of Object.entries(changes)) {
    const { body: shown } = await tk.http.get('/api/v1/playbooks/restart/versions/1.0.0').expect(200);
    await tk.http
      .patch(`${path}/${act}`)
      .send({ ...shown, ...change, nmae: 'x' })
      .expect(400);
    await tk.http
      .patch(`${path}/${act}`)
      .send({ ...shown, ...change })
      .expect(200);
  }
});
