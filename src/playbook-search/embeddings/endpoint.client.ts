import { HttpClient, type HttpRequest } from '../../common/http-client.js';
import type { Question } from '../../common/upstream-calls.js';
import { UpstreamFailure } from '../../common/upstream-failure.js';
import { toUnitLength } from './text-model.js';

export interface EndpointAddress {
  /** Up to `/embeddings`, which is added unless it ends so. */
  readonly url: string;
  readonly model: string;
  readonly apiKey: string | undefined;
  /** Asked of the model where it can shorten its vectors. */
  readonly dimensions: number | undefined;
}

const maxAnswerBytes = 33_554_432;

/** Asks an OpenAI-compatible `/embeddings`, one request at a time of the asker's. */
export class EndpointClient {
  private readonly url: URL;
  private readonly http: HttpClient;

  constructor(
    private readonly address: EndpointAddress,
    timeoutMs: number,
  ) {
    this.url = embeddingsUrl(address.url);
    const { origin } = this.url;
    this.http = new HttpClient({ origin, connections: 4, timeoutMs, maxResponseBytes: maxAnswerBytes });
  }

  /** The question whose answer is a vector of length 1 for each text, in their order. */
  question(texts: readonly string[]): Question<Float32Array[]> {
    const { model, apiKey, dimensions } = this.address;
    return {
      method: 'POST',
      path: this.url.pathname + this.url.search,
      ...(apiKey !== undefined && { headers: { authorization: `Bearer ${apiKey}` } }),
      body: JSON.stringify({ model, input: texts, ...(dimensions !== undefined && { dimensions }) }),
      read: (answer) => vectorsIn(answer, texts.length),
    };
  }

  /** @throws UpstreamFailure */
  ask(request: HttpRequest, limitMs: number): Promise<unknown> {
    return this.http.ask(request, limitMs);
  }

  /** Ends what is under way. */
  close(): Promise<void> {
    return this.http.close();
  }
}

/** Host and path, without what an address may carry of credentials. */
export function endpointName(address: Pick<EndpointAddress, 'url'>): string {
  const { host, pathname } = embeddingsUrl(address.url);
  return host + pathname.replace(/\/embeddings$/, '');
}

function embeddingsUrl(base: string): URL {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/embeddings') ? path : `${path}/embeddings`;
  return url;
}

/** @throws UpstreamFailure unless the answer is a list of `count` vectors of one length, numbers all of them */
function vectorsIn(answer: unknown, count: number): Float32Array[] {
  const data = dataIn(answer);
  if (data.length !== count) throw wrong(`holds ${data.length} vectors for ${count} texts`);
  const vectors: Float32Array[] = [];
  for (const [place, { index = place, embedding }] of data.entries()) {
    if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index]) {
      throw wrong('holds vectors with wrong indexes');
    }
    vectors[index] = vectorOf(embedding);
  }
  if (new Set(vectors.map(({ length }) => length)).size > 1)
    throw wrong('holds vectors of different lengths');
  return vectors;
}

interface Datum {
  readonly index?: number;
  readonly embedding?: unknown;
}

function dataIn(answer: unknown): readonly Datum[] {
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : undefined;
  if (!Array.isArray(data) || !data.every((each) => typeof each === 'object' && each !== null)) {
    throw wrong('has no list `data`');
  }
  return data as readonly Datum[];
}

function vectorOf(embedding: unknown): Float32Array {
  const isVector = Array.isArray(embedding) && embedding.length > 0 && embedding.every(Number.isFinite);
  if (!isVector) throw wrong('holds a vector that is no list of numbers');
  return toUnitLength(Float32Array.from(embedding as number[]));
}

const wrong = (what: string): UpstreamFailure => new UpstreamFailure('invalid_answer', `its answer ${what}`);
