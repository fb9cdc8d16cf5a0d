import { abortable } from '../../../base/common/abortable.js';
import { HttpClient } from '../../../base/outbound/http-client.js';
import { isObject } from '../../../base/common/json.js';
import {
  endpointBreaker,
  endpointUrl,
  keyHeader,
  type ModelAddress,
  type Question,
  type RetrySettings,
  UpstreamCalls,
} from '../../../base/outbound/upstream-calls.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';

/** Kinds of texts to embed. Timeouts differ: an investigation waits for a query, but nothing waits for documents. */
export type EmbeddingKind = 'query' | 'document';

/** Retries and timeouts of one kind of text. */
interface EndpointRetries extends RetrySettings {
  readonly timeoutMs: number;
}

const defaultRetries: Readonly<Record<EmbeddingKind, EndpointRetries>> = {
  query: { timeoutMs: 1_000, retries: 1, pauseMs: 200, deadlineMs: 1_000 },
  document: { timeoutMs: 30_000, retries: 3, pauseMs: 200, deadlineMs: 120_000 },
};

/** Max texts per request: the default limit of text-embeddings-inference. */
const maxTextsPerRequest = 32;
const maxAnswerBytes = 33_554_432;
const neverAborted = new AbortController().signal;

/** A client of an OpenAI-compatible `/embeddings`. The cosine of two vectors measures similarity of meaning. */
export class EmbeddingsEndpoint {
  /** Endpoint and model in one word, without credentials. Only vectors with the same id are comparable. */
  readonly id: string;
  private readonly url: URL;
  private readonly http: HttpClient;
  private readonly calls: Readonly<Record<EmbeddingKind, UpstreamCalls>>;

  constructor(
    private readonly address: ModelAddress,
    retrySettings = defaultRetries,
    breaker = endpointBreaker(),
  ) {
    this.url = endpointUrl(address, '/embeddings');
    const { origin, host, pathname } = this.url;
    this.id = `openai:${host}${pathname.replace(/\/embeddings$/, '')}:${address.model}`;
    const timeoutMs = Math.max(retrySettings.query.timeoutMs, retrySettings.document.timeoutMs);
    this.http = new HttpClient({ origin, connections: 4, timeoutMs, maxResponseBytes: maxAnswerBytes });
    // Each kind has its own retries, but both share the breaker of the endpoint.
    const callsFor = (kind: EmbeddingKind): UpstreamCalls =>
      new UpstreamCalls(
        retrySettings[kind],
        (request, limitMs) => this.http.ask(request, Math.min(limitMs, retrySettings[kind].timeoutMs)),
        breaker,
      );
    this.calls = { query: callsFor('query'), document: callsFor('document') };
  }

  /**
   * Embeds texts, none of which may be blank.
   * @returns one vector of length 1 for each text, in their order
   * @throws UpstreamFailure if the endpoint gives none; the signal's reason if the signal aborts
   */
  async embed(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal: AbortSignal = neverAborted,
  ): Promise<readonly Float32Array[]> {
    signal.throwIfAborted();
    const vectors: Float32Array[] = [];
    for (let start = 0; start < texts.length; start += maxTextsPerRequest) {
      const question = this.question(texts.slice(start, start + maxTextsPerRequest));
      vectors.push(...(await abortable(this.calls[kind].ask(question, signal), signal)));
    }
    return vectors;
  }

  /** Ends the requests in progress. */
  close(): Promise<void> {
    return this.http.close();
  }

  /** The request for some texts, and how its answer is read. */
  private question(texts: readonly string[]): Question<Float32Array[]> {
    return {
      method: 'POST',
      path: `${this.url.pathname}${this.url.search}`,
      headers: keyHeader(this.address),
      body: JSON.stringify({ model: this.address.model, input: texts }),
      read: (answer) => vectorsIn(answer, texts.length),
    };
  }
}

/** The vectors of an answer. @throws UpstreamFailure unless there are `count`, of numbers and equal length */
function vectorsIn(answer: unknown, count: number): Float32Array[] {
  const data = dataIn(answer);
  if (data.length !== count) throw invalidAnswer(`holds ${data.length} vectors for ${count} texts`);
  const vectors: Float32Array[] = [];
  for (const [position, { index = position, embedding }] of data.entries()) {
    const isFree = Number.isInteger(index) && index >= 0 && index < count && !vectors[index];
    if (!isFree) throw invalidAnswer('holds vectors with wrong indexes');
    vectors[index] = vectorOf(embedding);
  }
  if (new Set(vectors.map(({ length }) => length)).size > 1)
    throw invalidAnswer('holds vectors of different lengths');
  return vectors;
}

interface Datum {
  readonly index?: number;
  readonly embedding?: unknown;
}

/** The entries of an answer. @throws UpstreamFailure */
function dataIn(answer: unknown): readonly Datum[] {
  const data = isObject(answer) ? answer['data'] : undefined;
  if (!Array.isArray(data) || !data.every(isObject)) throw invalidAnswer('has no list `data`');
  return data;
}

/** A vector scaled to length 1. A vector of zeros stays unchanged: its cosine with anything is 0. */
function vectorOf(embedding: unknown): Float32Array {
  const isVector = Array.isArray(embedding) && embedding.length > 0 && embedding.every(Number.isFinite);
  if (!isVector) throw invalidAnswer('holds a vector that is no list of numbers');
  const vector = Float32Array.from(embedding as number[]);
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length > 0 ? vector.map((value) => value / length) : vector;
}

const invalidAnswer = (what: string): UpstreamFailure =>
  new UpstreamFailure('invalid_answer', `its answer ${what}`);
