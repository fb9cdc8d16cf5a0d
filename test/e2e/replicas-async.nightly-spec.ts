import { join } from 'node:path';
import { fixtures } from '../support/app.js';
import { endOf, submitSleep } from '../support/async-executions.js';
import { type Replica, type Replicas, startReplicas } from '../support/replicas.js';
import { until } from '../support/wait.js';

// Real: two servers in processes of their own, PostgreSQL, HTTP. One is killed while it runs jobs.

let replicas: Replicas;
let one: Replica;
let two: Replica;

beforeAll(async () => {
  replicas = await startReplicas({ CUSTOM_TOOLS_MAX_PROCESSES: '16', SANDBOX: 'off' });
  [one, two] = replicas.all;
  for (const [name, idempotent] of [
    ['again', true],
    ['single', false],
  ] as const) {
    const settings = {
      command: 'node',
      args: [join(fixtures, 'fixture-tool.mjs')],
      keepAlive: true,
      poolSize: 1,
    };
    const annotations = { readOnly: false, destructive: false, openWorld: false, idempotent };
    await one.http
      .post('/api/v1/custom-tools')
      .send({ name, description: name, ...settings, annotations })
      .expect(201);
    await until(async () => (await two.http.get(`/api/v1/tools/${name}`)).status === 200, { what: name });
  }
}, 120_000);
afterAll(() => replicas.stop());

describe('asynchronous executions of two replicas', () => {
  it('have one outcome each when a replica is killed: all succeed but what a process of it had', async () => {
    const tools = Array.from({ length: 24 }, (_, n) => (n % 2 === 0 ? 'again' : 'single'));
    const places = await Promise.all(tools.map((tool) => submitSleep(one, tool, 1_500)));
    await until(
      async () => {
        const views = await Promise.all(places.map((place) => one.http.get(place)));
        return views.filter(({ body }) => body.status === 'running').length >= 8;
      },
      { what: 'jobs at both' },
    );
    await two.end('SIGKILL');
    const ends = await Promise.all(places.map((place) => endOf(one, place)));
    const of = (tool: string): string[] =>
      ends
        .filter((view) => view.tool === tool)
        .map(({ status, outcome }) => `${status} ${outcome.error?.type ?? outcome.status}`);
    expect(of('again')).toEqual(Array<string>(12).fill('ended success'));
    expect(of('single').filter((text) => text !== 'ended success')).toEqual(
      of('single').filter((text) => text === 'ended interrupted'),
    );
    const interrupted = ends.filter(({ outcome }) => outcome.error?.type === 'interrupted').length;
    // The replica had one process of each tool; other calls only waited for it.
    expect(interrupted).toBeLessThanOrEqual(1);
    // What was answered stays so.
    const again = await Promise.all(places.map((place) => one.http.get(place)));
    expect(again.map(({ body }) => body)).toEqual(ends);
  }, 90_000);
});
