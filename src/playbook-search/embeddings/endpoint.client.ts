import { Agent, request } from 'undici';
import { toUnitLength } from './text-model.js';

/** An answer that is none, in words for the log; the key and the texts never stand in them. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';

  constructor(
    message: string,
    /** The same request may succeed later. */
    readonly passing: boolean,
    /** What the endpoint asked to wait. */
    readonly retryAfterMs: number | undefined = undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

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
  private readonly agent = new Agent({ connections: 4, pipelining: 1, maxResponseSize: maxAnswerBytes });
  private readonly url: string;

  constructor(private readonly address: EndpointAddress) {
    this.url = embeddingsUrl(address.url);
  }

  /**
   * @param signal ends the request wherever it is, the answer's body included
   * @returns a vector of length 1 for each text, in their order
   * @throws EndpointError, or what undici throws
   */
  async embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const { model, apiKey, dimensions } = this.address;
    const { statusCode, headers, body } = await request(this.url, {
      method: 'POST',
      dispatcher: this.agent,
      signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ model, input: texts, ...(dimensions === undefined ? {} : { dimensions }) }),
    });
    if (statusCode !== 200) {
      await body.dump();
      const passing = statusCode === 408 || statusCode === 429 || statusCode >= 500;
      throw new EndpointError(`answers ${statusCode}`, passing, retryAfterMs(headers['retry-after']));
    }
    return vectorsIn(await body.text(), texts.length);
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

/** Host and path, without what an address may carry of credentials. */
export function endpointName(address: Pick<EndpointAddress, 'url'>): string {
  const { host, pathname } = new URL(embeddingsUrl(address.url));
  return host + pathname.replace(/\/embeddings$/, '');
}

function embeddingsUrl(base: string): string {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/embeddings') ? path : `${path}/embeddings`;
  return url.toString();
}

/** @throws EndpointError unless the text is a list of `count` vectors of one length, numbers all of them */
export function vectorsIn(text: string, count: number): Float32Array[] {
  const data = dataIn(text);
  if (data.length !== count) {
    throw new EndpointError(`answers ${data.length} vectors to ${count} texts`, false);
  }
  const vectors: Float32Array[] = [];
  for (const [place, { index = place, embedding }] of data.entries()) {
    if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index]) {
      throw new EndpointError('answers vectors with wrong indexes', false);
    }
    vectors[index] = vectorOf(embedding);
  }
  if (new Set(vectors.map(({ length }) => length)).size > 1) {
    throw new EndpointError('answers vectors of different lengths', false);
  }
  return vectors;
}

interface Datum {
  readonly index?: number;
  readonly embedding?: unknown;
}

function dataIn(text: string): readonly Datum[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new EndpointError('answers no JSON', false, undefined, { cause });
  }
  const data = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined;
  if (!Array.isArray(data) || !data.every((each) => typeof each === 'object' && each !== null)) {
    throw new EndpointError('answers without a list `data`', false);
  }
  return data as readonly Datum[];
}

function vectorOf(embedding: unknown): Float32Array {
  const isVector = Array.isArray(embedding) && embedding.length > 0 && embedding.every(Number.isFinite);
  if (!isVector) throw new EndpointError('answers a vector that is no list of numbers', false);
  return toUnitLength(Float32Array.from(embedding as number[]));
}

/** Seconds or a date, as HTTP has it. */
function retryAfterMs(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
