import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { supertest } from '../support/http.js';

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
  await tk.register('search', { keepAlive: true, poolSize: 4 });
});

afterAll(() => tk.close());

const call = (investigationId: string, input: unknown = {}) => tk.call('search', input, { investigationId });

describe('the budget of an investigation', () => {
  it('admits exactly 10 of 50 concurrent calls, and refused ones cost nothing', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => call('busy')));
    const admitted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    expect([admitted.length, refused.length]).toEqual([10, 40]);
    expect(refused[0]?.body).toMatchObject({ code: 'investigation_budget_spent' });
    expect(refused[0]?.headers['ratelimit-remaining']).toBe('0');
    const { body } = await tk.http.get('/api/v1/investigations/busy').expect(200);
    expect(body.tools).toEqual([
      expect.objectContaining({ tool: 'search', limit: 10, used: 10, remaining: 0 }),
    ]);
  });

  it('is told by headers on every answer', async () => {
    const { headers } = await call('told').expect(200);
    expect(headers).toMatchObject({ 'ratelimit-limit': '10', 'ratelimit-remaining': '9' });
    expect(Number(headers['ratelimit-reset'])).toBeGreaterThan(0);
    const { headers: without } = await tk.call('search').expect(200);
    expect(without).not.toHaveProperty('ratelimit-limit');
  });

  it('is not spent by an invalid input, nor by a test call', async () => {
    await tk.register('strict', { inputSchema: { type: 'object', required: ['q'] }, keepAlive: true });
    await tk.call('strict', {}, { investigationId: 'careful' }).expect(422);
    await tk.http
      .post('/api/v1/custom-tools/strict/test')
      .send({ input: { q: 1 }, context: { investigationId: 'careful' } })
      .expect(200);
    await tk.http.get('/api/v1/investigations/careful').expect(404);
  });

  it('is raised and reset', async () => {
    await Promise.all(Array.from({ length: 10 }, () => call('raised')));
    await call('raised').expect(429);
    await tk.http
      .patch('/api/v1/investigations/raised')
      .send({ tools: { search: 12 } })
      .expect(200);
    await call('raised').expect(200).expect('ratelimit-remaining', '1');
    await tk.http.delete('/api/v1/investigations/raised').expect(204);
    await call('raised').expect(200).expect('ratelimit-remaining', '9');
    await tk.http
      .patch('/api/v1/investigations/raised')
      .send({ calls: 3 })
      .expect(400, /"pointer":"\/calls"/);
  });

  it("follows the tool's own limit", async () => {
    await tk.register('single', { keepAlive: true, callsPerInvestigation: 1 });
    await tk.call('single', {}, { investigationId: 'own' }).expect(200);
    await tk.call('single', {}, { investigationId: 'own' }).expect(429);
    const shown = async (): Promise<unknown> =>
      (await tk.http.get('/api/v1/investigations/own').expect(200)).body.tools;
    expect(await shown()).toEqual([{ tool: 'single', limit: 1, used: 1, remaining: 0 }]);
    for (const [limit, now] of [
      [0, { limit: 0, remaining: null }],
      [3, { limit: 3, remaining: 2 }],
      [null, { limit: 10, remaining: 9 }],
    ] as const) {
      await tk.http.patch('/api/v1/custom-tools/single').send({ callsPerInvestigation: limit }).expect(200);
      expect(await shown()).toEqual([{ tool: 'single', used: 1, ...now }]);
    }
  });
});

describe('an investigation of the same id', () => {
  const path = '/api/v1/investigations/same';
  const callers: Record<string, TestApp['http']> = {};

  beforeAll(async () => {
    const keyOf = async (projects: string[]): Promise<TestApp['http']> => {
      const { body } = await tk.http
        .post('/api/v1/keys')
        .send({ name: projects.join(), owner: 'agent', scopes: ['tools:call'], projects })
        .expect(201);
      return supertest.agent(tk.url).set(bearer(body.key));
    };
    callers.owner = await keyOf(['default']);
    callers.other = await keyOf(['b']);
    callers.several = await keyOf(['c', 'b']);
    callers.keyless = tk.anonymous;
    await tk.register('one', { keepAlive: true, callsPerInvestigation: 1 });
  });

  const callBy = (caller = '', investigationId = 'same') =>
    callers[caller]!.post('/api/v1/tools/one/execute').send({ input: {}, context: { investigationId } });

  it.each(['other', 'keyless'])('is not read nor spent by a caller that is %s', async (who) => {
    const id = `of-owner-${who}`;
    await callBy('owner', id).expect(200);
    await callers[who]!.get(`/api/v1/investigations/${id}`).expect(404);
    await callBy(who, id).expect(200);
    await callBy(who, id).expect(429);
    const { body } = await callers.owner!.get(`/api/v1/investigations/${id}`).expect(200);
    expect(body).toMatchObject({ project: 'default', tools: [{ tool: 'one', used: 1 }] });
  });

  it('is raised and reset in the project that is named alone', async () => {
    for (const who of ['owner', 'other', 'keyless']) await callBy(who).expect(200);
    await tk.http
      .patch(path)
      .set('x-project-id', 'b')
      .send({ tools: { one: 2 } })
      .expect(200);
    await callBy('other').expect(200);
    for (const who of ['owner', 'keyless']) await callBy(who).expect(429);
    await tk.http.delete(path).expect(204);
    await callBy('owner').expect(200);
    for (const who of ['other', 'keyless']) await callBy(who).expect(429);
  });

  it('is found by a key of several projects, and by the project that is named', async () => {
    await callBy('other', 'of-b').expect(200);
    const { body } = await callers.several!.get('/api/v1/investigations/of-b').expect(200);
    expect(body.project).toBe('b');
    await callers.several!.get('/api/v1/investigations/of-b').set('x-project-id', 'c').expect(404);
    await callers.several!.get('/api/v1/investigations/of-b').set('x-project-id', 'a').expect(403);
  });

  it('is listed to callers without a key if it is theirs, and to a key of all projects in any case', async () => {
    await callBy('keyless', 'listed').expect(200);
    await callBy('other', 'listed').expect(200);
    const listedTo = async (agent: TestApp['http'], project?: string): Promise<unknown[]> => {
      const asked = agent.get('/api/v1/investigations');
      const { body } = await (project === undefined ? asked : asked.set('x-project-id', project)).expect(200);
      const same = body.data.filter(
        ({ investigationId: id }: { investigationId: string }) => id === 'listed',
      );
      return same.map(({ project: its }: { project: string | null }) => its);
    };
    expect(await listedTo(callers.keyless!)).toEqual([null]);
    expect(await listedTo(tk.http)).toEqual(['b', null]);
    expect(await listedTo(tk.http, 'b')).toEqual(['b']);
  });

  it('of callers without a key is raised by a key of all projects', async () => {
    await callBy('keyless', 'of-nobody').expect(200);
    await tk.http
      .patch('/api/v1/investigations/of-nobody')
      .send({ tools: { one: 5 } })
      .expect(200);
    await callBy('keyless', 'of-nobody').expect(200);
  });
});
