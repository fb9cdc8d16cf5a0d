import type { PlaybookAnswerView } from '../../src/agents/playbook-search/rest/playbook-search.dto.js';
import { startApp, type TestApp } from '../support/app.js';
import { EmbeddingsServer } from '../support/embeddings-endpoint.js';
import { until } from '../support/wait.js';

const patience = 90_000;
const playbook = (playbook_id: string, over: object = {}) => ({
  playbook_id,
  version: '1.0.0',
  name: `Mend ${playbook_id}`,
  description: 'What helps.',
  content: {},
  ...over,
});
const dns = playbook('dns', { aliases: ['names are not resolved'] });
const oom = playbook('oom', { signals: ['OOMKilled'], aliases: ['memory ran out'] });

/** real: the server, HTTP, PostgreSQL; ours: what turns texts into vectors. */
describe('a server with an embeddings endpoint', () => {
  let endpoint: EmbeddingsServer;
  let tk: TestApp;
  const others: TestApp[] = [];

  const start = (variables: Record<string, string> = {}): Promise<TestApp> =>
    startApp({ EMBEDDINGS_URL: endpoint.url, EMBEDDINGS_MODEL: 'words', ...variables });
  const store = (...playbooks: object[]) =>
    tk.http.post('/api/v1/playbooks/import').send(playbooks).expect(200);
  const health = async (app = tk): Promise<object | undefined> => {
    const { body } = await app.http.get('/readyz');
    return (body as { details?: { embeddings: object } }).details?.embeddings;
  };
  const provider = (model = 'words') => `openai:${endpoint.url.slice('http://'.length)}:${model}`;
  const inStep = (vectors: number, app = tk): Promise<object> =>
    until(
      async () => {
        const seen = await health(app);
        return seen &&
          'vectors' in seen &&
          seen.vectors === vectors &&
          'status' in seen &&
          seen.status === 'up'
          ? seen
          : undefined;
      },
      { what: `${vectors} vectors` },
    );
  const explained = async (query: string, app = tk) => {
    const { body } = await app.http
      .get('/api/v1/playbooks/search')
      .query({ query, explain: true })
      .expect(200);
    return body as PlaybookAnswerView;
  };
  const shown = async (query: string, app = tk) =>
    (await explained(query, app)).playbooks.map(({ playbook_id }) => playbook_id);

  beforeAll(async () => {
    endpoint = await EmbeddingsServer.start();
    tk = await start();
  }, patience);
  afterAll(async () => {
    await Promise.all([tk, ...others].map((app) => app.close()));
    await endpoint.close();
  });

  it('finds by meaning what shares no word', async () => {
    await store(dns, oom);
    expect(await inStep(2)).toEqual({ status: 'up', provider: provider(), vectors: 2 });
    const { playbooks, explanation } = await explained('titles understood');
    expect(playbooks.map(({ playbook_id }) => playbook_id)).toEqual(['dns']);
    expect(explanation).toMatchObject({
      degraded: null,
      candidates: [
        { playbook_id: 'dns', lexical: 0, cosine: expect.closeTo(0.7071) },
        { playbook_id: 'oom' },
      ],
    });
    const { text } = await tk.http.get('/metrics').expect(200);
    expect(text).toContain('toolkeeper_playbook_vectors 2');
    expect(text).toContain('toolkeeper_playbook_embeddings_up 1');
    expect(text).toMatch(/toolkeeper_embedding_duration_seconds_count [1-9]/);
  });

  it('goes by words while the endpoint hangs, says so, and goes by meaning again afterwards', async () => {
    endpoint.hangs = true;
    const { playbooks, explanation } = await explained('OOMKilled');
    expect([playbooks[0]?.playbook_id, explanation?.degraded]).toEqual(['oom', 'timeout']);
    expect(await health()).toMatchObject({ status: 'degraded', message: 'timeout' });
    const { text } = await tk.http.get('/metrics').expect(200);
    expect(text).toContain('toolkeeper_playbook_searches_degraded_total{reason="timeout"} 1');
    endpoint.hangs = false;
    expect((await explained('titles understood')).explanation?.degraded).toBeNull();
    expect(await health()).toMatchObject({ status: 'up' });
  });

  it('embeds nothing twice: what a start finds stored is taken up', async () => {
    const before = endpoint.embedded.length;
    const again = await start({ DATABASE_URL: tk.db.url });
    others.push(again);
    await inStep(2, again);
    expect(endpoint.embedded.slice(before)).toEqual([]);
    expect(await shown('titles understood', again)).toEqual(['dns']);
  });

  it('keeps the vectors of each model apart', async () => {
    const other = await start({ DATABASE_URL: tk.db.url, EMBEDDINGS_MODEL: 'others' });
    others.push(other);
    await inStep(2, other);
    expect(
      await tk.db.dataSource.query(
        `SELECT provider_id, playbook_id, length(vector) AS bytes FROM playbook_embeddings ORDER BY 1, 2`,
      ),
    ).toEqual([
      { provider_id: provider('others'), playbook_id: 'dns', bytes: 256 },
      { provider_id: provider('others'), playbook_id: 'oom', bytes: 256 },
      { provider_id: provider('words'), playbook_id: 'dns', bytes: 256 },
      { provider_id: provider('words'), playbook_id: 'oom', bytes: 256 },
    ]);
  });

  it('follows the catalogue, and goes on after a failure where it stopped', async () => {
    await Promise.all(others.splice(0).map((app) => app.close()));
    const before = endpoint.embedded.length;
    await tk.http
      .patch('/api/v1/playbooks/oom/1.0.0/disable')
      .send({ disabled_by: 'me', disabled_reason: 'x' });
    await inStep(1);
    endpoint.failsAfter = 1;
    const many = Array.from({ length: 20 }, (_, at) => playbook(`p${at}`, { aliases: [`incident ${at}`] }));
    await store(playbook('dns', { version: '1.1.0', aliases: ['nothing is resolved'] }), ...many);
    await until(async () => (await health())?.['message' as keyof object] === 'rejected', {
      what: 'the failure',
    });
    // Eight playbooks were embedded together and stay embedded; the catalogue is found by words meanwhile.
    expect(endpoint.embedded.length - before).toBe(8);
    expect(await shown('incident 19')).toContain('p19');
    endpoint.failsAfter = Infinity;
    expect((await explained('nothing')).explanation?.degraded).toBe('rejected');
    await inStep(21);
    const texts = ['nothing', 'nothing is resolved', ...many.map((_, at) => `incident ${at}`)];
    expect(endpoint.embedded.slice(before).sort()).toEqual(texts.sort());
  });

  it('finds a plain playbook by the meaning of its description', async () => {
    await store(playbook('plain', { description: 'Brings titles.' }));
    await inStep(22);
    const { explanation } = await explained('names');
    const plain = explanation?.candidates.find(({ playbook_id }) => playbook_id === 'plain');
    expect(plain).toMatchObject({ lexical: 0, cosine: expect.closeTo(0.3162) });
  });
});

describe('a server whose endpoint rejects the text of a playbook', () => {
  let endpoint: EmbeddingsServer;
  let tk: TestApp;
  beforeAll(async () => {
    endpoint = await EmbeddingsServer.start();
    endpoint.rejects = 'unspeakable';
    tk = await startApp({ EMBEDDINGS_URL: endpoint.url, EMBEDDINGS_MODEL: 'words' });
  }, patience);
  afterAll(async () => {
    await tk.close();
    await endpoint.close();
  });

  const embeddings = (vectors: number, status: string) =>
    until(
      async () => {
        const { body } = await tk.http.get('/readyz');
        const { details } = body as { details: { embeddings: { vectors: number; status: string } } };
        const isThere = details.embeddings.vectors === vectors && details.embeddings.status === status;
        return isThere ? details.embeddings : undefined;
      },
      { what: `${vectors} vectors` },
    );

  it('goes on with the others, says so, and asks again once the text is another', async () => {
    const many = Array.from({ length: 20 }, (_, at) => playbook(`p${at}`, { aliases: [`incident ${at}`] }));
    await tk.http
      .post('/api/v1/playbooks/import')
      .send([playbook('a-first', { signals: ['weird noises'], aliases: ['unspeakable'] }), ...many, dns])
      .expect(200);
    expect(await embeddings(21, 'degraded')).toMatchObject({ message: 'rejected' });
    const { body } = await tk.http.get('/api/v1/playbooks/search').query({ query: 'titles understood' });
    expect(body).toMatchObject({ playbooks: [{ playbook_id: 'dns' }] });
    const found = await tk.http.get('/api/v1/playbooks/search').query({ query: 'weird noises' });
    expect(found.body).toMatchObject({ playbooks: [{ playbook_id: 'a-first' }] });
    await tk.http
      .post('/api/v1/playbooks')
      .send(playbook('a-first', { version: '2.0.0', signals: ['weird noises'] }))
      .expect(201);
    await embeddings(22, 'up');
  });
});

describe('a server whose embeddings endpoint is away', () => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp({ EMBEDDINGS_URL: 'http://127.0.0.1:1/v1', EMBEDDINGS_MODEL: 'any' });
  }, patience);
  afterAll(() => tk.close());

  it('is ready, says so, and finds by words', async () => {
    await tk.http.post('/api/v1/playbooks').send(oom).expect(201);
    const embeddings = await until(
      async () => {
        const { status, body } = await tk.http.get('/readyz');
        const { details } = body as { details: { embeddings: { message?: string } } };
        const isSaid = details.embeddings.message === 'unreachable';
        return status === 200 && isSaid ? details.embeddings : undefined;
      },
      { what: 'the endpoint to be given up' },
    );
    expect(embeddings).toMatchObject({ status: 'degraded', vectors: 0 });
    const { body } = await tk.http.get('/api/v1/playbooks/search').query({ query: 'OOMKilled' }).expect(200);
    expect(body).toMatchObject({ playbooks: [{ playbook_id: 'oom' }] });
  });
});
