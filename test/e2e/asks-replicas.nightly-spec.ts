import { join } from 'node:path';
import { fixtures } from '../support/app.js';
import { startAskingServer } from '../support/asking-modern-server.js';
import { endOf } from '../support/async-executions.js';
import type { Json } from '../support/json.js';
import { type Replica, type Replicas, startReplicas } from '../support/replicas.js';
import { until } from '../support/wait.js';
import type { WebSite } from '../support/web-site.js';

// real: servers in processes of their own, the death of one, PostgreSQL, HTTP, servers of the official libraries; mock: nothing

const library = join(__dirname, '..', '..', 'node_modules');
const elicitation = { form: {} };
const tea = { item: 'tea' };
const accept = (amount: number) => ({ action: 'accept', content: { amount } });
let replicas: Replicas;
let one: Replica;
let two: Replica;
let upstream: WebSite;

beforeAll(async () => {
  upstream = await startAskingServer();
  replicas = await startReplicas({ SANDBOX: 'off', SANDBOX_GRANTABLE_PATHS: `${library}:${fixtures}` });
  [one, two] = replicas.all;
  const program = { command: 'node', args: [join(fixtures, 'asking-server.mjs')] };
  for (const server of [
    { name: 'old', ...program },
    { name: 'new', url: upstream.url },
  ])
    await one.http
      .post('/api/v1/custom-tools')
      .send({ ...server, protocol: 'mcp' })
      .expect(201);
  for (const tool of ['old__order', 'new__late'])
    await until(async () => (await two.http.get(`/api/v1/tools/${tool}`)).status === 200, { what: tool });
}, 120_000);
afterAll(async () => {
  await replicas.stop();
  await upstream.stop();
});

const execute = (at: Replica, tool: string, body: object) =>
  at.http.post(`/api/v1/tools/${tool}/execute`).send({ elicitation, ...body });
const executionsOf = async (at: Replica, tool: string): Promise<Json[]> =>
  (await at.http.get('/api/v1/tool-metrics/executions').query({ tool })).body.data;

/** A call over a stream, and the id of the question on it. */
async function streamed(at: Replica): Promise<{ questionId: string; rest: Promise<string> }> {
  const response = await fetch(`${at.url}/api/v1/tools/old__order/execute`, {
    method: 'POST',
    headers: { ...at.key, accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ input: tea, elicitation }),
  });
  const asked = Promise.withResolvers<string>();
  const rest = (async () => {
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const [, id] = /"questionId":"(\w+)"/.exec(text) ?? [];
      if (id !== undefined) asked.resolve(id);
    }
    return text;
  })();
  rest.catch(asked.reject);
  return { questionId: await asked.promise, rest };
}

/** The place of an asynchronous call that asks. */
async function asking(at: Replica): Promise<string> {
  const queued = await execute(at, 'new__late', {}).set('prefer', 'respond-async').expect(202);
  const place = queued.headers['location'] ?? '';
  const { body } = await at.http.get(`${place}?waitMs=30000`).expect(200);
  expect(body).toMatchObject({ status: 'input_required', inputRequests: { first: {}, second: {} } });
  return place;
}
const answers = { inputResponses: { first: accept(1), second: accept(2) } };

describe('answers to another replica than the one that asked', () => {
  it('reach a call that waits for them', async () => {
    const { questionId, rest } = await streamed(one);
    await two.http.post(`/api/v1/questions/${questionId}`).send(accept(6)).expect(204);
    expect(await rest).toContain('\\"amount\\":6');
  });

  it('go on with an execution between two rounds', async () => {
    const { body } = await execute(one, 'new__order', { input: tea }).expect(202);
    const { requestState, executionId } = body;
    const next = { input: tea, requestState, inputResponses: { how: accept(7) } };
    const { body: done } = await execute(two, 'new__order', next).expect(200);
    expect(done).toMatchObject({ status: 'success', executionId });
  });

  it('go on with an asynchronous execution', async () => {
    const place = await asking(one);
    await two.http.post(`${place}/answers`).send(answers).expect(200);
    expect(await endOf(one, place)).toMatchObject({ status: 'ended', outcome: { status: 'success' } });
  });
});

it('a replica that is killed while its calls ask: what is queued goes on elsewhere, once', async () => {
  const victim = await replicas.start();
  for (const tool of ['old__order', 'new__late'])
    await until(async () => (await victim.http.get(`/api/v1/tools/${tool}`)).status === 200, { what: tool });
  const before = (await executionsOf(one, 'new__late')).length;
  const { questionId, rest } = await streamed(victim);
  const place = await asking(victim);
  await victim.end('SIGKILL');
  await rest.catch(() => undefined);
  // Nobody waits for this answer any more, and no replica can know: it is passed on, and taken by none.
  await one.http.post(`/api/v1/questions/${questionId}`).send(accept(6));
  await one.http.post(`${place}/answers`).send(answers).expect(200);
  const end = await endOf(two, place);
  expect(end).toMatchObject({ status: 'ended', outcome: { status: 'success' } });
  const { executionId } = end['outcome'];
  await until(async () => (await executionsOf(one, 'new__late')).length > before, { what: 'its record' });
  const own = (await executionsOf(one, 'new__late')).filter((each) => each.metricId === executionId);
  expect(own).toMatchObject([{ status: 'success' }]);
  // An answer that comes twice changes nothing.
  await two.http.post(`${place}/answers`).send(answers).expect(200);
  expect(await endOf(one, place)).toEqual(end);
}, 120_000);

it('a task whose next round is cut off with its replica ends once', async () => {
  const victim = await replicas.start();
  await until(async () => (await victim.http.get('/api/v1/tools/new__late')).status === 200, {
    what: 'the tool',
  });
  const places = await Promise.all(Array.from({ length: 6 }, () => asking(victim)));
  await Promise.all(places.map((place) => victim.http.post(`${place}/answers`).send(answers).expect(200)));
  await victim.end('SIGKILL');
  const ends = await Promise.all(places.map((place) => endOf(one, place)));
  for (const { outcome, status } of ends) {
    expect(status).toBe('ended');
    expect(['success', 'interrupted']).toContain(outcome.error?.type ?? outcome.status);
  }
  const ids = ends.map(({ outcome }) => outcome.executionId);
  expect(new Set(ids).size).toBe(places.length);
  // What was answered stays so.
  const again = await Promise.all(places.map((place) => two.http.get(place)));
  expect(again.map(({ body }) => body)).toEqual(ends);
}, 120_000);
