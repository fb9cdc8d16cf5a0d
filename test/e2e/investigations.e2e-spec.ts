import { startApp, type TestApp } from '../support/app.js';

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

  it('is not spent by an invalid input, nor by a trial', async () => {
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
  });
});
