import { join } from 'node:path';
import { bearer } from '../support/admin-key.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { supertest } from '../support/http.js';
import { McpHttpServer } from '../support/mcp-http-server.js';
import { nodeProcessesWith } from '../support/processes.js';
import { until } from '../support/wait.js';

// Real: MCP servers as processes and behind a URL, keys of two projects, callers without a key.

const fixture = join(fixtures, 'mcp-server.mjs');
let tk: TestApp;
let upstream: McpHttpServer;
const callers = new Map<string, TestApp['http']>();

beforeAll(async () => {
  tk = await startApp({ CUSTOM_TOOLS_MAX_PROCESSES: '6' }, { customTools: { idleTimeoutMs: 1_500 } });
  upstream = await McpHttpServer.start();
  for (const project of ['default', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
    const settings = { name: project, owner: project, scopes: ['tools:call'], projects: [project] };
    const { body } = await tk.http.post('/api/v1/keys').send(settings).expect(201);
    callers.set(project, supertest.agent(tk.url).set(bearer(body.key)));
  }
});

afterAll(async () => {
  await tk.close();
  await upstream.stop();
});

const register = (body: object) =>
  tk.http
    .post('/api/v1/custom-tools')
    .send({ protocol: 'mcp', ...body })
    .expect(201);
const serve = (name: string, settings: object = {}) =>
  register({ name, command: 'node', args: [fixture, `--mark=${name}`], ...settings });
const callBy = (project: string, tool: string, input: object = {}) =>
  callers.get(project)!.post(`/api/v1/tools/${tool}/execute`).send({ input });
const countBy = async (project: string, server: string): Promise<{ calls: number; instance: string }> =>
  (await callBy(project, `${server}__count`).expect(200)).body.result.structuredContent;
const viewOf = async (name: string) => (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;

describe('an MCP server', () => {
  it('remembers for each project by itself, and its processes end when they are idle', async () => {
    const { body } = await serve('own');
    expect(body.isolation).toBe('project');
    expect([(await countBy('a', 'own')).calls, (await countBy('a', 'own')).calls]).toEqual([1, 2]);
    const [ofA, ofB, ofDefault] = [
      await countBy('a', 'own'),
      await countBy('b', 'own'),
      await countBy('default', 'own'),
    ];
    expect([ofA.calls, ofB.calls, ofDefault.calls]).toEqual([3, 1, 1]);
    expect(new Set([ofA.instance, ofB.instance, ofDefault.instance]).size).toBe(3);
    const health = await tk.http.get('/api/v1/custom-tools/own/health').expect(200);
    const { idle, busy } = health.body.processes;
    expect(idle + busy).toBe(3);
    // The one of project default stays: minProcesses is 1.
    await until(() => nodeProcessesWith('--mark=own').length === 1, { what: 'the end of idle processes' });
    expect((await countBy('a', 'own')).calls).toBe(1);
    expect((await countBy('default', 'own')).calls).toBe(2);
  });

  it('that is shared remembers for all of them', async () => {
    const { body } = await serve('all', { isolation: 'shared' });
    expect(body.isolation).toBe('shared');
    const counts = [await countBy('a', 'all'), await countBy('b', 'all'), await countBy('default', 'all')];
    expect(counts.map(({ calls }) => calls)).toEqual([1, 2, 3]);
  });

  it('that was stored before there was a choice stays shared until it is changed, by a new revision', async () => {
    await serve('old', { isolation: 'shared' });
    const { revision } = await viewOf('old');
    await tk.http.patch('/api/v1/custom-tools/old').send({ timeoutMs: 20_000 }).expect(200);
    expect(await viewOf('old')).toMatchObject({ isolation: 'shared', revision: revision + 1 });
    await tk.http.patch('/api/v1/custom-tools/old').send({ isolation: 'project' }).expect(200);
    expect(await viewOf('old')).toMatchObject({ isolation: 'project', revision: revision + 2 });
    expect([(await countBy('a', 'old')).calls, (await countBy('b', 'old')).calls]).toEqual([1, 1]);
    await tk.http.post('/api/v1/custom-tools/old/rollback').send({ revision }).expect(200);
    expect((await viewOf('old')).isolation).toBe('shared');
  });

  it.each([
    ['project', 2],
    ['shared', 1],
  ])('behind a URL, isolation %s, has %i sessions for two projects', async (isolation, sessions) => {
    await register({ name: `url-${isolation}`, url: upstream.url('/json'), isolation, minProcesses: 0 });
    await until(() => upstream.sessions.size === 0, { what: 'the end of earlier sessions' });
    for (const project of ['a', 'b']) await callBy(project, `url-${isolation}__echo`).expect(200);
    expect(upstream.sessions.size).toBe(sessions);
    await until(() => upstream.sessions.size === 0, { what: 'the end of idle sessions' });
  });

  it('refuses a project beyond CUSTOM_TOOLS_MAX_PROCESSES as queue_full, until another one is idle', async () => {
    await register({ name: 'full', url: upstream.url('/json'), minProcesses: 0 });
    const projects = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const held = projects
      .slice(0, 6)
      .map((project) => callBy(project, 'full__hang').then(({ body }) => body));
    await until(() => upstream.sessions.size === 6, { what: 'six sessions' });
    const { body } = await callBy('g', 'full__echo').expect(429);
    expect(body).toMatchObject({ code: 'queue_full' });
    expect(body.detail).toContain('CUSTOM_TOOLS_MAX_PROCESSES');
    await tk.http.delete('/api/v1/custom-tools/full').expect(204);
    void held;
  });

  it('leaves no process of any project behind when it is unregistered', async () => {
    await serve('gone');
    for (const project of ['a', 'b', 'default']) await countBy(project, 'gone');
    expect(nodeProcessesWith('--mark=gone').length).toBe(3);
    await tk.http.delete('/api/v1/custom-tools/gone').expect(204);
    await until(() => nodeProcessesWith('--mark=gone').length === 0, { what: 'the end of all processes' });
  });
});

it('tells of each tool with isolation, and takes it from any', async () => {
  await tk.register('kept', { keepAlive: true, isolation: 'project' });
  await tk.register('usual', { keepAlive: true });
  expect((await viewOf('kept')).isolation).toBe('project');
  expect((await viewOf('usual')).isolation).toBe('shared');
  await callBy('a', 'kept').expect(200);
  await callBy('b', 'kept').expect(200);
  const { body } = await tk.http.get('/api/v1/custom-tools/kept/health').expect(200);
  expect(body.processes.idle).toBe(2);
});
