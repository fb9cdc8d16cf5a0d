import { Logger } from '@nestjs/common';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { OpenApi } from '../support/openapi.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';

// real: the whole server, its database, a tool's processes; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
});
afterAll(() => tk.close());

const entries = async (query = ''): Promise<Json[]> =>
  (await tk.http.get(`/api/v1/audit${query}`).expect(200)).body.data;
const circuit = (act: string) => tk.http.post(`/api/v1/tool-health/get_playbooks/circuit/${act}`).send({});

it('an act on a tool: who, what, on what and how it ended', async () => {
  await tk.register('audited', { env: { TOKEN: 's3cret-value' } });
  const path = '/api/v1/custom-tools/audited';
  await tk.http
    .patch(path)
    .set('x-request-id', 'req-7')
    .send({ timeoutMs: 5_000, env: { TOKEN: 'an0ther-value' } })
    .expect(200);
  await tk.http.patch(path).send({ timeoutMs: 1 }).expect(400);
  await tk.http.post(`${path}/disable`).expect(200);
  await tk.http.delete(path).expect(204);
  await tk.http.delete(path).expect(404);
  const done = (await entries('?target=custom-tools/audited')).reverse();
  const by = { keyId: 'admin', userId: 'admin', address: '127.0.0.1', target: 'custom-tools/audited' };
  expect(done).toMatchObject([
    { ...by, action: 'registerCustomTool', status: 201 },
    { ...by, action: 'updateCustomTool', status: 200, requestId: 'req-7' },
    { ...by, action: 'updateCustomTool', status: 400 },
    { ...by, action: 'disableCustomTool', status: 200 },
    { ...by, action: 'removeCustomTool', status: 204 },
    { ...by, action: 'removeCustomTool', status: 404 },
  ]);
  expect(JSON.stringify(done)).not.toMatch(/s3cret|an0ther/);
});

it('a name finds the acts on a tool and on its circuit, and none on tools of similar names', async () => {
  for (const tool of ['list_labels', 'get_playbooks'])
    await tk.http.post(`/api/v1/tool-health/${tool}/circuit/reset`).send({}).expect(200);
  const found = await entries('?target=list_labels');
  expect(found).toMatchObject([{ action: 'resetCircuit', target: 'tool-health/list_labels' }]);
  expect(await entries('?target=list')).toEqual([]);
});

it('a key is named by its id, and its holder by the key', async () => {
  const { body: made } = await tk.http
    .post('/api/v1/keys')
    .send({ name: 'deployer', owner: 'alice', scopes: ['tools:admin'] })
    .expect(201);
  const holder = supertest.agent(tk.url).set(bearer(made.key));
  await holder.post('/api/v1/tool-health/get_playbooks/circuit/reset').send({}).expect(200);
  await tk.http.delete(`/api/v1/keys/${made.id}`).expect(204);
  expect(await entries(`?target=keys/${made.id}`)).toMatchObject([
    { action: 'revokeKey', status: 204 },
    { action: 'createKey', status: 201 },
  ]);
  const [own, ...others] = await entries(`?keyId=${made.id}`);
  expect([own, others]).toMatchObject([
    { userId: 'alice', action: 'resetCircuit', target: 'tool-health/get_playbooks' },
    [],
  ]);
  expect(JSON.stringify(await entries())).not.toContain(made.key.slice(-43));
});

it('an act says why, whether its reason stands in the body or in the address', async () => {
  const path = '/api/v1/investigations/inc-7';
  const why = 'Störung dauert \u202e<b>an</b>';
  await tk.http.patch(path).send({ callsPerTool: 20, reason: why }).expect(200);
  await tk.http.delete(path).query({ reason: why }).expect(204);
  await tk.http.delete(path).expect(204);
  await tk.http
    .delete(path)
    .query({ reason: 'x'.repeat(501) })
    .expect(400, /"pointer":"\/reason"/);
  expect(await entries('?target=investigations/inc-7')).toMatchObject([
    { action: 'resetInvestigation', status: 400, reason: 'x'.repeat(500) },
    { action: 'resetInvestigation', status: 204, reason: null },
    { action: 'resetInvestigation', status: 204, reason: why },
    { action: 'raiseInvestigation', status: 200, reason: why },
  ]);
});

it('what an act changed is told, without secrets; what was refused says why', async () => {
  await tk.register('changed', { env: { TOKEN: 's3cret-value' } });
  const path = '/api/v1/custom-tools/changed';
  await tk.http
    .patch(path)
    .send({ timeoutMs: 5_000, env: { TOKEN: 'an0ther-value' } })
    .expect(200);
  await tk.http.patch(path).send({ timeoutMs: 1 }).expect(400);
  await tk.http.post(`${path}/rollback`).send({ revision: 1, reason: 'It was too slow' }).expect(200);
  await tk.http.post(`${path}/disable`).expect(200);
  const [disabled, rolledBack, refused, patched, made] = await entries('?target=custom-tools/changed');
  expect(made?.['changes']).toContainEqual({ path: '/name', after: 'changed' });
  expect(patched).toMatchObject({ error: null, changes: [{ path: '/timeoutMs', after: 5_000 }] });
  expect(refused).toMatchObject({ error: expect.stringContaining('timeoutMs'), changes: [] });
  expect(rolledBack).toMatchObject({
    reason: 'It was too slow',
    changes: [{ path: '/timeoutMs', before: 5_000 }],
  });
  expect(disabled?.['changes']).toMatchObject([{ path: '/status', after: 'inactive' }]);
  expect(JSON.stringify([disabled, rolledBack, refused, patched, made])).not.toMatch(/s3cret|an0ther/);
});

it('a long change is told by its paths alone', async () => {
  await tk.register('long');
  const metadata = { note: 'x'.repeat(9_000) };
  await tk.http.patch('/api/v1/custom-tools/long').send({ metadata }).expect(200);
  const [entry] = await entries('?target=custom-tools/long');
  expect(entry?.['changes']).toEqual([{ path: expect.stringMatching(/^\/metadata/) }]);
});

describe('an auditor', () => {
  let auditor: ReturnType<typeof supertest.agent>;
  beforeAll(async () => {
    const make = (body: object) => tk.http.post('/api/v1/keys').send(body).expect(201);
    const { body: own } = await make({ name: 'auditor', scopes: ['audit:read'] });
    auditor = supertest.agent(tk.url).set(bearer(own.key));
    const { body: holder } = await make({ name: '=1+1, "on call"', scopes: ['tools:admin'] });
    await tk.http.patch(`/api/v1/keys/${holder.id}`).send({ name: '=2+2, "on call"' }).expect(200);
    const holding = supertest.agent(tk.url).set(bearer(holder.key));
    const reset = holding.post('/api/v1/tool-health/get_playbooks/circuit/reset');
    await reset.send({ reason: '@SUM(A1)\nor not' }).expect(200);
  });

  it('finds names beside ids, and what changed in a key', async () => {
    const { body } = await auditor.get('/api/v1/audit?limit=2').expect(200);
    const { body: made } = await auditor.get('/api/v1/audit?action=createKey').expect(200);
    expect(made.data[0].changes).toContainEqual({ path: '/scopes', after: ['tools:admin'] });
    expect(body.data).toMatchObject([
      { action: 'resetCircuit', keyName: '=2+2, "on call"', targetName: null },
      {
        action: 'updateKey',
        targetName: '=2+2, "on call"',
        keyName: null,
        changes: [{ path: '/name', before: '=1+1, "on call"', after: '=2+2, "on call"' }],
      },
    ]);
  });

  it.each([
    ['format=csv', {}],
    ['', { accept: 'text/csv' }],
  ])('reads it as a table: %s %j', async (query, headers) => {
    const asked = auditor.get(`/api/v1/audit?limit=2&${query}`).set(headers).expect(200);
    const { text, headers: told } = await asked.expect('content-type', 'text/csv; charset=utf-8');
    const [head, ...rows] = text.split('\r\n');
    expect(head).toMatch(/^id,at,keyId,userId,.*,reason,keyName,targetName,error,changes$/);
    // No cell begins a formula; line breaks and quotes are within their cells.
    expect(rows[0]).toContain(`"'@SUM(A1)\nor not","'=2+2, ""on call"""`);
    expect(rows).toHaveLength(3);
    expect(told['x-next-cursor']).toEqual(expect.any(String));
    await auditor.get('/api/v1/audit?format=xml').expect(400, /"pointer":"\/format"/);
  });

  it.each(['tool-metrics/executions', 'runs', 'group'])(
    'gets no %s; whoever may, as a table, too',
    async (path) => {
      await auditor.get(`/api/v1/${path}`).expect(403);
      const { text } = await tk.http.get(`/api/v1/${path}?format=csv`).expect(200);
      expect(text).toMatch(/^\w+(,\w+)+\r\n/);
    },
  );

  it('has a key of no project', async () => {
    const body = { name: 'x', scopes: ['audit:read'], projects: ['a'] };
    await tk.http
      .post('/api/v1/keys')
      .send(body)
      .expect(400, /audit:read/);
    const [refused] = await entries('?action=createKey&limit=1');
    expect(refused).toMatchObject({ status: 400, error: expect.stringContaining('audit:read') });
  });
});

it('an act on what cannot be has its entry, too', async () => {
  const long = Array.from({ length: 500 }, (_, n) =>
    String.fromCodePoint(0x4e00 + ((n * 7_919) % 20_000)),
  ).join('');
  await tk.http.delete('/api/v1/custom-tools/a%00b').expect(404);
  await tk.http
    .patch(encodeURI(`/api/v1/playbooks/${long}/${long}/disable`))
    .send({})
    .expect(400);
  expect((await entries('?limit=2')).map(({ target }) => target)).toEqual([
    `playbooks/${long}/${long}`.slice(0, 512),
    'custom-tools/a\ufffdb',
  ]);
});

it('what changes nothing, is a call, or was refused for want of the scope has no entry', async () => {
  const before = await entries();
  await tk.http.get('/api/v1/keys').expect(200);
  await tk.call('get_playbooks', { query: 'x' }).expect(200);
  await tk.anonymous.delete('/api/v1/custom-tools/audited').expect(401);
  expect(await entries()).toEqual(before);
});

it('entries are told newest first, by page, time and action', async () => {
  const since = new Date().toISOString();
  for (const act of ['open', 'close', 'open', 'close']) await circuit(act).expect(200);
  const query = `since=${since}&action=openCircuit&limit=1`;
  const { body: first } = await tk.http.get(`/api/v1/audit?${query}`).expect(200);
  const { body: second } = await tk.http.get(`/api/v1/audit?${query}&cursor=${first.nextCursor}`).expect(200);
  expect([first.data, second]).toMatchObject([[{ action: 'openCircuit' }], { nextCursor: null }]);
  expect(second.data[0].id < first.data[0].id).toBe(true);
  expect(await entries(`?until=${since}&action=openCircuit`)).toEqual([]);
  for (const cursor of ['bm9uZQ', '%00'])
    await tk.http.get(`/api/v1/audit?cursor=${cursor}`).expect(400, /"pointer":"\/cursor"/);
});

it('an act whose entry cannot be stored stands, and its entry is in the log', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  await tk.db.dataSource.query('ALTER TABLE audit_entries RENAME TO away');
  await circuit('open').expect(200, /"state":"open"/);
  await tk.db.dataSource.query('ALTER TABLE away RENAME TO audit_entries');
  const audit = { action: 'openCircuit', target: 'tool-health/get_playbooks', status: 200, userId: 'admin' };
  expect(logged).toHaveBeenCalledWith(
    expect.objectContaining({ audit: expect.objectContaining(audit) }),
    expect.any(String),
  );
  logged.mockRestore();
});

describe('a read of what tools and models were given and answered', () => {
  const group = { groupBy: 'run', runId: 'run-1' };
  let execution: string;
  let reader: ReturnType<typeof supertest.agent>;
  beforeAll(async () => {
    await tk.register('captured', { capture: 'all' });
    execution = (await tk.call('captured', { a: 1 }).expect(200)).body.executionId;
    const { body } = await tk.http
      .post('/api/v1/keys')
      .send({ name: 'reader', scopes: ['traces:read'] })
      .expect(201);
    reader = supertest.agent(tk.url).set(bearer(body.key));
  });

  it.each<[string, string, () => string, object | undefined]>([
    [
      'getExecutionPayload',
      'tool-metrics/executions',
      () => `tool-metrics/executions/${execution}/payload`,
      undefined,
    ],
    ['listSpans', 'spans', () => 'spans', undefined],
    ['listRunSpans', 'runs/run-1', () => 'runs/run-1', undefined],
    ['listTraceWindow', 'traces/t-1', () => 'traces/t-1/window', undefined],
    ['listGroupSpans', 'group/spans', () => 'group/spans?group_by=run&run_id=run-1', undefined],
    ['listBatchSpans', 'group/batch-spans', () => 'group/batch-spans', { groups: [group] }],
  ])('%s leaves one entry, where an operator reads', async (action, target, path, body) => {
    const read = (http: typeof reader) =>
      body ? http.post(`/api/v1/${path()}`).send(body) : http.get(`/api/v1/${path()}`);
    const { status } = await read(tk.http);
    expect(await entries(`?action=${action}`)).toMatchObject([
      { keyId: 'admin', target: expect.stringContaining(target), status },
    ]);
    await read(reader);
    expect(await entries(`?action=${action}`)).toHaveLength(1);
  });
});

/** Writes that need no administrative scope: calls, spans, experiments, chats, pages, own accounts, a sign-out. A sign-in leaves a row if it succeeds. */
const notAdministrative = new Set([
  ...[
    'executeTool',
    'runToolCalls',
    'getPrompt',
    'answerQuestion',
    'postSpans',
    'signIn',
    'signOut',
    'beginSignIn',
    'endProviderSessions',
    'recordPlaybookOutcome',
    'endAccount',
  ],
  ...['createExperiment', 'updateExperiment', 'deleteExperiment', 'runExperiment', 'cancelExperiment'],
  ...['createChat', 'createTurn', 'approveCall', 'retryTurn', 'stopTurn', 'deleteChat'],
  ...[
    'createUiSession',
    'reportUiPage',
    'answerUiCall',
    'grantUiPage',
    'revokeUiPage',
    'cancelAsyncExecution',
    'answerAsyncExecution',
  ],
]);

it('each route that changes something leaves a row, whatever came of it', async () => {
  const { body: document } = await tk.http.get('/openapi.json').expect(200);
  const api = new OpenApi(document);
  // `listBatchSpans` reads: its ids do not fit into an address.
  const writes = api
    .operations()
    .filter(({ method, operation }) => method !== 'get' && operation.operationId !== 'listBatchSpans');
  const acts = writes
    .map(({ operation }) => operation.operationId)
    .filter((id) => !notAdministrative.has(id));
  expect(acts.length).toBeGreaterThan(30);
  for (const each of writes) {
    // Most bodies are wrong for their route: a row tells of an act that failed as well.
    await tk.http[each.method as 'post'](api.urlOf(each)).send({});
  }
  const done = new Set((await entries('?limit=1000')).map(({ action }) => action));
  expect(acts.filter((act) => !done.has(act))).toEqual([]);
});
