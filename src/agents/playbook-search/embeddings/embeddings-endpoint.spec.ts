import type { ServerResponse } from 'node:http';
import { WebSite } from '../../../../test/support/web-site.js';
import { CircuitBreaker } from '../../../base/outbound/breaker/circuit-breaker.js';
import type { ModelAddress } from '../../../base/outbound/upstream-calls.js';
import { type EmbeddingKind, EmbeddingsEndpoint } from './embeddings-endpoint.js';

interface Asked {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: { readonly model: string; readonly input: string[] };
}
type Answer = (asked: Asked, reply: ServerResponse) => void;

const vectors: Answer = ({ body }, reply) => {
  const data = body.input.map((input, index) => ({
    object: 'embedding',
    index,
    embedding: [input.length, 0],
  }));
  // The order is not promised, the index is.
  reply.end(JSON.stringify({ object: 'list', data: data.reverse(), model: body.model }));
};
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, reply) =>
    reply.writeHead(code, headers).end('{"error":{"message":"no"}}');

/** real: HTTP, the client, time-outs, the breaker; ours: an endpoint that answers what the test says, in order. */
describe('EmbeddingsEndpoint', () => {
  let site: WebSite;
  let asked: Asked[];
  let answers: Answer[];
  let endpoint: EmbeddingsEndpoint;

  const open = ({
    address = {},
    timeoutMs = 5_000,
    failures = 100,
  }: {
    address?: Partial<ModelAddress>;
    timeoutMs?: number;
    failures?: number;
  } = {}): EmbeddingsEndpoint => {
    const retries_ = { timeoutMs, pauseMs: 1, deadlineMs: 20_000 };
    endpoint = new EmbeddingsEndpoint(
      { url: `${site.url}/v1`, model: 'small', apiKey: 'key', ...address },
      { query: { ...retries_, retries: 1 }, document: { ...retries_, retries: 3 } },
      new CircuitBreaker(
        { failures, minFailureRate: 0.5, windowMs: 60_000, openMs: 60_000, maxOpenMs: 60_000, probes: 1 },
        { now: Date.now },
        Math.random,
      ),
    );
    return endpoint;
  };
  const embed = (texts: string[], kind: EmbeddingKind = 'document', signal?: AbortSignal) =>
    endpoint.embed(texts, kind, signal);

  beforeEach(async () => {
    asked = [];
    answers = [];
    site = await WebSite.start(({ url, headers }, reply, body) => {
      const { authorization } = headers;
      const each = { url, authorization, body: JSON.parse(body.toString()) as Asked['body'] };
      asked.push(each);
      (answers.shift() ?? vectors)(each, reply);
    });
  });
  afterEach(async () => {
    await endpoint.close();
    await site.stop();
  });

  it('asks in batches, as OpenAI has it, and gives vectors of length 1 in the order of the texts', async () => {
    const texts = Array.from({ length: 33 }, (_, at) => 'a'.repeat(at + 1));
    const found = await open().embed(texts, 'document');
    expect(found).toEqual(texts.map(() => Float32Array.of(1, 0)));
    const request = { url: '/v1/embeddings', authorization: 'Bearer key' };
    expect(asked).toEqual([
      { ...request, body: { model: 'small', input: texts.slice(0, 32) } },
      { ...request, body: { model: 'small', input: texts.slice(32) } },
    ]);
  });

  it('puts answers in the order of their index', async () => {
    answers.push((_, reply) =>
      reply.end('{"data":[{"index":1,"embedding":[0,3]},{"index":0,"embedding":[4,0]}]}'),
    );
    expect(await open().embed(['a', 'b'], 'document')).toEqual([
      Float32Array.of(1, 0),
      Float32Array.of(0, 1),
    ]);
  });

  it('is named after its endpoint and model, without credentials', () => {
    const address = { url: 'https://me:secret@api.example.com/v1/', model: 'm', apiKey: 'k' };
    expect(open({ address }).id).toBe('openai:api.example.com/v1:m');
  });

  it.each([500, 503, 429, 408])('repeats after %d', async (code) => {
    answers.push(status(code), status(code));
    await expect(open().embed(['a'], 'document')).resolves.toHaveLength(1);
    expect(asked).toHaveLength(3);
  });

  it('waits as long as it is asked to', async () => {
    answers.push(status(429, { 'retry-after': '1' }));
    const started = Date.now();
    await open().embed(['a'], 'document');
    expect(Date.now() - started).toBeGreaterThanOrEqual(990);
  });

  it('does not wait for what is asked too long', async () => {
    answers.push(status(429, { 'retry-after': '3600' }));
    await expect(open().embed(['a'], 'document')).rejects.toMatchObject({ kind: 'rate_limited' });
    expect(asked).toHaveLength(1);
  });

  it.each([400, 401, 404])('does not repeat after %d', async (code) => {
    answers.push(status(code));
    await expect(open().embed(['a'], 'document')).rejects.toThrow(`answered ${code}`);
    expect(asked).toHaveLength(1);
  });

  it('repeats a query once only: somebody waits for it', async () => {
    answers.push(status(500), status(500), status(500));
    await expect(open().embed(['a'], 'query')).rejects.toMatchObject({ kind: 'server_error' });
    expect(asked).toHaveLength(2);
  });

  it.each([
    ['no JSON', 'no'],
    ['no list', '{"data":{}}'],
    ['too few vectors', '{"data":[{"index":0,"embedding":[1]}]}'],
    ['no numbers', '{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":["1"]}]}'],
    ['different lengths', '{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}'],
    ['the same index twice', '{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}'],
    ['an empty vector', '{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}'],
  ])('refuses an answer with %s', async (_, body) => {
    answers.push((_asked, reply) => reply.end(body));
    await expect(open().embed(['a', 'b'], 'document')).rejects.toMatchObject({ kind: 'invalid_answer' });
    expect(asked).toHaveLength(1);
  });

  it('ends a request that takes too long, in its head or in its body', async () => {
    open({ timeoutMs: 400 });
    answers.push(
      () => undefined,
      (_, reply) => reply.writeHead(200).write('{"data":['),
    );
    await expect(embed(['a'], 'query')).rejects.toMatchObject({ kind: 'timeout' });
    // A request whose time was up before it was connected does not arrive.
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it('says that nobody listens', async () => {
    open({ address: { url: 'http://127.0.0.1:1' } });
    await expect(embed(['a'], 'query')).rejects.toThrow('ECONNREFUSED');
  });

  it('leaves an endpoint alone that keeps failing', async () => {
    open({ failures: 2 });
    answers.push(status(500), status(500));
    await expect(embed(['a'], 'query')).rejects.toMatchObject({ kind: 'server_error' });
    await expect(embed(['a'], 'query')).rejects.toMatchObject({ kind: 'circuit_open' });
    expect(asked).toHaveLength(2);
  });

  it('ends at once when its asker leaves, which is no failure of the endpoint', async () => {
    open({ failures: 1 });
    const leaving = new AbortController();
    answers.push(() => leaving.abort(new Error('left')));
    await expect(embed(['a'], 'query', leaving.signal)).rejects.toThrow('left');
    await expect(embed(['a'], 'query')).resolves.toHaveLength(1);
  });
});
