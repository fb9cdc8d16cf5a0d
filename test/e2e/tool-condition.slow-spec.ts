import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

// Real: the whole server and tools' processes. Health checks come by the minute: none falls into these tests.

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
  await tk.register('json', { keepAlive: true });
  const server = {
    name: 'server',
    protocol: 'mcp',
    command: 'node',
    args: [join(fixtures, 'mcp-server.mjs')],
  };
  await tk.http.post('/api/v1/custom-tools').send(server).expect(201);
});

afterAll(() => tk.close());

const viewOf = async (name: string) => (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;
const eventsOf = async (name: string): Promise<string[]> => {
  const { body } = await tk.http.get(`/api/v1/events?tool=${name}`).expect(200);
  return body.data
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => type.startsWith('tool.'));
};

describe.each([
  ['json', () => tk.call('json', { action: 'crash' }), () => tk.call('json')],
  ['server', () => tk.call('server__crash'), () => tk.call('server__echo', { text: 'x' })],
])('the health of a tool: %s', (name, crash, good) => {
  const turns = async (healthStatus: string): Promise<void> => {
    await until(async () => (await viewOf(name)).healthStatus === healthStatus, { what: healthStatus });
  };

  it('follows its calls: each crash and each recovery is an event, and none is a change of the tool', async () => {
    const { updatedAt } = await viewOf(name);
    for (let times = 0; times < 2; times++) {
      expect((await crash().expect(200)).body.error.type).toBe('tool_crashed');
      await turns('unhealthy');
      expect((await good().expect(200)).body.status).toBe('success');
      await turns('healthy');
    }
    expect(await viewOf(name)).toMatchObject({ errorMessage: null, updatedAt });
    expect(new Date((await viewOf(name)).lastHealthCheck) > new Date(updatedAt)).toBe(true);
    // Events come by way of the database.
    await until(async () => (await eventsOf(name)).length >= 4, { what: 'four events' });
    expect(await eventsOf(name)).toEqual([
      ...['tool.crashed', 'tool.recovered'],
      ...['tool.crashed', 'tool.recovered'],
    ]);
  });

  it('has a change of the tool as updatedAt', async () => {
    const { updatedAt } = await viewOf(name);
    await tk.http.patch(`/api/v1/custom-tools/${name}`).send({ timeoutMs: 9_000 }).expect(200);
    expect((await viewOf(name)).updatedAt > updatedAt).toBe(true);
  });
});

describe('what cannot be called', () => {
  const reported = async (name: string) =>
    (await tk.http.get('/api/v1/tool-health').expect(200)).body.toolReports.find(
      ({ toolName }: { toolName: string }) => toolName === name,
    );
  const post = (path: string) => tk.http.post(`/api/v1/custom-tools/${path}`).send({});

  it.each([
    ['json', 'json', () => tk.call('json')],
    ['server', 'server__echo', () => tk.call('server__echo', { text: 'x' })],
  ])('says so beside its grade: %s is disabled', async (name, called, call) => {
    for (let n = 0; n < 5; n++) await call().expect(200);
    await until(async () => (await reported(called))?.totalCalls >= 5, { what: 'its calls in the report' });
    const { status, unavailable } = await reported(called);
    expect(unavailable).toBeUndefined();
    await post(`${name}/disable`).expect(200);
    // The grade stays that of its calls.
    expect(await reported(called)).toMatchObject({ status, unavailable: { state: 'disabled' } });
    await post(`${name}/enable`).expect(200);
    expect((await reported(called)).unavailable).toBeUndefined();
  });

  it('says why it cannot be started', async () => {
    await tk.register('gone', { keepAlive: true });
    await tk.db.dataSource.query(`UPDATE custom_tools SET command = '/nowhere/at/all' WHERE name = 'gone'`);
    const second = await startApp({ DATABASE_URL: tk.db.url });
    try {
      const { unavailable } = (await second.http.get('/api/v1/tools/gone').expect(200)).body;
      expect(unavailable).toMatchObject({ state: 'error', why: expect.stringMatching(/nowhere/) });
    } finally {
      await second.close();
    }
  });
});
