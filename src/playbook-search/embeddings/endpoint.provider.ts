import { setTimeout as delay } from 'node:timers/promises';
import {
  type EmbeddingCalibration,
  type EmbeddingKind,
  type EmbeddingProvider,
  EmbeddingUnavailable,
} from '../embedding-provider.js';
import type { EndpointBreaker } from './endpoint-breaker.js';
import { type EndpointAddress, EndpointClient, EndpointError, endpointName } from './endpoint.client.js';
import { isTimeout } from './is-timeout.js';

export interface EndpointSettings {
  readonly address: EndpointAddress;
  readonly calibration: EmbeddingCalibration;
  /** Texts of one request. */
  readonly batch: number;
  /** One request and its answer. A query is waited for by an investigation, documents by nobody. */
  readonly timeoutMs: Readonly<Record<EmbeddingKind, number>>;
  /** Requests after a failed one. */
  readonly retries: Readonly<Record<EmbeddingKind, number>>;
  /** Before the first repetition, doubled for each further one, with full jitter. */
  readonly retryMs: number;
}

/** A `Retry-After` beyond it is not waited for. */
const longestWaitMs = 30_000;

/** Any OpenAI-compatible `/embeddings`. */
export class EndpointProvider implements EmbeddingProvider {
  readonly id: string;
  readonly semantic = true;
  readonly calibration: EmbeddingCalibration;
  private client: EndpointClient | undefined;
  private dimensionsKnown: number;

  constructor(
    private readonly settings: EndpointSettings,
    private readonly breaker: EndpointBreaker,
  ) {
    const { address, calibration } = settings;
    const size = address.dimensions === undefined ? '' : `:${address.dimensions}`;
    this.id = `openai:${endpointName(address)}:${address.model}${size}`;
    this.calibration = calibration;
    this.dimensionsKnown = address.dimensions ?? 0;
  }

  get dimensions(): number {
    return this.dimensionsKnown;
  }

  async embed(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += this.settings.batch) {
      vectors.push(...(await this.batch(texts.slice(at, at + this.settings.batch), kind, signal)));
    }
    return vectors;
  }

  async close(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    await client?.close();
  }

  private async batch(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal: AbortSignal | undefined,
  ): Promise<readonly Float32Array[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.attempt(texts, kind, signal);
      } catch (error) {
        signal?.throwIfAborted();
        const waitMs = attempt < this.settings.retries[kind] ? this.waitAfter(error, attempt) : undefined;
        if (waitMs === undefined) throw unavailable(error);
        await delay(waitMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
      }
    }
  }

  /** @returns undefined when repeating is no use */
  private waitAfter(error: unknown, attempt: number): number | undefined {
    if (error instanceof EmbeddingUnavailable) return undefined;
    const { passing, retryAfterMs } = error instanceof EndpointError ? error : reachProblem;
    if (!passing || (retryAfterMs ?? 0) > longestWaitMs) return undefined;
    return retryAfterMs ?? Math.random() * this.settings.retryMs * 2 ** attempt;
  }

  private async attempt(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal: AbortSignal | undefined,
  ): Promise<readonly Float32Array[]> {
    signal?.throwIfAborted();
    if (!this.breaker.admit()) {
      throw new EmbeddingUnavailable('circuit_open', 'The embeddings endpoint is left alone for now');
    }
    const timeout = AbortSignal.timeout(this.settings.timeoutMs[kind]);
    try {
      this.client ??= new EndpointClient(this.settings.address);
      const vectors = await this.client.embed(texts, signal ? AbortSignal.any([signal, timeout]) : timeout);
      this.breaker.succeeded();
      this.dimensionsKnown = vectors[0]?.length ?? this.dimensionsKnown;
      return vectors;
    } catch (error) {
      // Whoever runs out of time has waited for the endpoint; whoever leaves for another reason says nothing about it.
      if (signal?.aborted && !isTimeout(signal.reason)) this.breaker.left();
      else this.breaker.failed();
      throw error;
    }
  }
}

/** Refused, reset, timed out, no such host. */
const reachProblem = { passing: true, retryAfterMs: undefined };

function unavailable(cause: unknown): EmbeddingUnavailable {
  if (cause instanceof EmbeddingUnavailable) return cause;
  if (isTimeout(cause)) {
    return new EmbeddingUnavailable('timed_out', 'The embeddings endpoint took too long', { cause });
  }
  const what = cause instanceof EndpointError ? cause.message : 'cannot be reached';
  const trouble =
    cause instanceof EndpointError && !/^answers \d+$/.test(what) ? 'wrong_answer' : 'endpoint_failed';
  return new EmbeddingUnavailable(trouble, `The embeddings endpoint ${what}`, { cause });
}
