import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { postForEvents } from '../support/sse.js';

// real: the whole server, tools' processes in their sandbox, HTTP; mock: nothing

const fixture = { command: 'node', args: [join(fixtures, 'fixture-tool.mjs')], description: 'tried' };
let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
});
afterAll(() => tk.close());

const dryRun = async (body: object, status = 200): Promise<Json> =>
  (
    await tk.http
      .post('/api/v1/custom-tools/try')
      .send({ name: 'tried', ...fixture, ...body })
      .expect(status)
  ).body;
const textsOf = (view: Json): string[] => view.log.map(({ message }: Json) => message);

describe('a dry run of a registration', () => {
  it('tells the handshake, where the registration differs, what its sandbox enforces, and what it wrote', async () => {
    const view = await dryRun({ version: '9.9.9', call: { input: { action: 'stderr', bytes: 20 } } });
    expect(view).toMatchObject({
      description: 'tried',
      version: '9.9.9',
      handshake: { version: expect.any(String), inputSchema: expect.any(Object) },
      inputSchema: expect.any(Object),
      differences: expect.arrayContaining([
        expect.stringMatching(/^version: the registration says "9\.9\.9"/),
      ]),
      outcome: { tool: 'tried', status: 'success' },
    });
    expect(view.effectiveSandbox).toEqual(
      expect.objectContaining({
        ...{ tier: expect.any(Number), enforced: expect.any(Array), notEnforced: expect.any(Array) },
        runsAs: expect.any(Object),
      }),
    );
    expect(textsOf(view).join('')).toBe('e'.repeat(20));
  });

  it('tells what of its own input schema is left out, and where', async () => {
    const args = [...fixture.args, '--type=strng'];
    const { differences } = await dryRun({ args, inputSchema: { type: 'object' } });
    expect(differences).toContainEqual(
      '/properties/action/type of its inputSchema: "strng" is no JSON type, so all values pass',
    );
  });

  it("tells what of the registration's schema is left out, as the registration itself does", async () => {
    const inputSchema = { properties: { n: { type: 'integr' }, m: { type: 'number', minimum: 'three' } } };
    const faults = [
      '/properties/n/type of its inputSchema: "integr" is no JSON type, so all values pass',
      expect.stringMatching(/^\/properties\/m\/minimum of its inputSchema is left out/),
    ];
    const { differences } = await dryRun({ inputSchema });
    expect(differences).toEqual(expect.arrayContaining(faults));
    const registered = await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'misspelt', ...fixture, inputSchema })
      .expect(201);
    expect(registered.body.warnings).toEqual(expect.arrayContaining(faults));
  });

  it('stores nothing but the record of its call, and leaves no process and no figures', async () => {
    const { outcome } = await dryRun({ name: 'gone', call: {} });
    await tk.http.get('/api/v1/custom-tools/gone').expect(404);
    await tk.call('gone').expect(404);
    const { body: record } = await tk.http
      .get(`/api/v1/tool-metrics/executions/${outcome.executionId}`)
      .expect(200);
    expect(record).toMatchObject({ toolName: 'gone', isTest: true });
    const { text } = await tk.http.get('/metrics').expect(200);
    expect(text).not.toContain('tool="gone"');
    const { body: health } = await tk.http.get('/api/v1/tool-health').expect(200);
    expect(JSON.stringify(health)).not.toContain('gone');
    // Nothing of it is called: null, not an empty outcome.
    expect((await dryRun({})).outcome).toBeNull();
  });

  it('is refused as the registration would be, with the field', async () => {
    const refused = async (body: object, pointer: string): Promise<string> => {
      const [tried, registered] = await Promise.all([
        dryRun(body, 400),
        tk.http.post('/api/v1/custom-tools').send({ name: 'tried', ...fixture, ...body }),
      ]);
      expect(tried.errors[0].pointer).toBe(pointer);
      expect(registered.body.errors).toEqual(tried.errors);
      return tried.detail;
    };
    await refused({ command: 'no-such-program' }, '/command');
    await refused({ poolSize: 999 }, '/poolSize');
    await refused({ inputSchema: { type: 'nonsense' } }, '/inputSchema');
    const detail = await refused({ args: [join(fixtures, 'nowhere.mjs')] }, '/args/0');
    expect(detail).toContain('does not exist');
    await refused({ args: [...fixture.args, '--start=exit'] }, '/command');
  });

  it('calls under the rules of a call, and tells what it ended with', async () => {
    const schema = { type: 'object', properties: { action: { type: 'string' } } };
    const problem = await dryRun({ inputSchema: schema, call: { input: { action: 5 } } }, 422);
    expect(problem).toMatchObject({ code: 'invalid_input', errors: [{ pointer: '/input/action' }] });
    const { outcome } = await dryRun({ call: { input: { action: 'crash', stderr: 'boom' } } });
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'tool_crashed' } });
    expect(await dryRun({ name: 'get_playbooks' }, 409)).toMatchObject({ code: 'conflict' });
  });

  it('is followed line by line, and shows no secret', async () => {
    const url = `${tk.url}/api/v1/custom-tools/try`;
    const body = {
      ...{ name: 'tried', ...fixture, env: { TOOL_TOKEN: 'hush-hush-hush' } },
      call: { input: { action: 'crash', stderr: 'the token is hush-hush-hush\n' } },
    };
    const events = await (await postForEvents(url, body, { key: tk.key })).rest();
    expect(events.map(({ event }) => event)).toEqual(['log', 'trial']);
    expect(events[0]?.data).toMatchObject({ event: 'stderr', message: 'the token is [secret TOOL_TOKEN]' });
    expect(events[1]?.data.outcome.error.type).toBe('tool_crashed');
    expect(JSON.stringify(events)).not.toContain('hush-hush');
    const broken = await postForEvents(url, { ...body, command: 'no-such-program' }, { key: tk.key });
    expect(await broken.rest()).toEqual([
      { event: 'problem', data: expect.objectContaining({ code: 'invalid_request' }) },
    ]);
  });
});

describe('a dry run of a change', () => {
  it('runs the tool as it would be, with its secrets, while calls run what is registered', async () => {
    await tk.register('kept', { env: { TOOL_TOKEN: 'hush-hush-hush' } });
    const change = (body: object) => tk.http.post('/api/v1/custom-tools/kept/try').send(body);
    const input = { action: 'env' };
    const { body } = await change({ env: { TOOL_MODE: 'new' }, call: { input } }).expect(200);
    expect(body.outcome.result).toMatchObject({ TOOL_TOKEN: 'hush-hush-hush', TOOL_MODE: 'new' });
    expect((await tk.call('kept', input).expect(200)).body.result.TOOL_MODE).toBeUndefined();
    const { body: tool } = await tk.http.get('/api/v1/custom-tools/kept').expect(200);
    expect(tool).toMatchObject({ revision: 1, status: 'active', env: { TOOL_TOKEN: expect.any(String) } });
    await change({ command: 'no-such-program' }).expect(400);
    await tk.http.post('/api/v1/custom-tools/nothing/try').send({}).expect(404);
  });

  it('by a rollback starts what the revision names, and changes nothing', async () => {
    await tk.register('turned', { env: { TOOL_MODE: 'old' } });
    const change = { env: { TOOL_MODE: 'new' } };
    await tk.http.patch('/api/v1/custom-tools/turned?reason=newer').send(change).expect(200);
    const place = '/api/v1/custom-tools/turned/revisions';
    const { body } = await tk.http.post(`${place}/1/try`).expect(200);
    expect(body).toMatchObject({ handshake: expect.any(Object), outcome: null });
    await tk.http.post(`${place}/7/try`).expect(404);
    await tk.http.post(`${place}/none/try`).expect(400);
    expect((await tk.http.get('/api/v1/custom-tools/turned').expect(200)).body.revision).toBe(2);
    const { body: audit } = await tk.http.get('/api/v1/audit?target=turned&action=updateCustomTool');
    expect(audit.data).toMatchObject([{ reason: 'newer' }]);
    const { body: list } = await tk.http.get(place).expect(200);
    expect(list.data.map(({ reason }: Json) => reason)).toEqual(['newer', null]);
  });

  it('of an MCP server neither uses nor ends the process that serves', async () => {
    const server = {
      ...{ protocol: 'mcp', command: 'node', args: [join(fixtures, 'mcp-server.mjs')], name: 'notes' },
    };
    const { body: made } = await tk.http.post('/api/v1/custom-tools').send(server).expect(201);
    expect(made.status).toBe('active');
    const tools = async (): Promise<string[]> =>
      (await tk.http.get('/api/v1/tools?limit=100')).body.data.map(({ name }: Json) => name);
    const before = await tools();
    const call = { tool: 'notes__echo', input: { text: 'ü' } };
    const { body } = await tk.http.post('/api/v1/custom-tools/notes/try').send({ call }).expect(200);
    expect(body).toMatchObject({
      handshake: { tools: expect.any(Array) },
      outcome: { tool: 'notes__echo', status: 'success' },
    });
    expect(await tools()).toEqual(before);
  });
});
