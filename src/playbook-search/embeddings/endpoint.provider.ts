import { abortable } from '../../common/abortable.js';
import type { CircuitBreaker } from '../../common/circuit-breaker.js';
import { UpstreamCalls } from '../../common/upstream-calls.js';
import { type FailureKind, UpstreamFailure } from '../../common/upstream-failure.js';
import {
  type EmbeddingCalibration,
  type EmbeddingKind,
  type EmbeddingProvider,
  type EmbeddingTrouble,
  EmbeddingUnavailable,
} from '../embedding-provider.js';
import { type EndpointAddress, EndpointClient, endpointName } from './endpoint.client.js';

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

interface OpenEndpoint {
  readonly client: EndpointClient;
  readonly calls: Readonly<Record<EmbeddingKind, UpstreamCalls>>;
}

/** A `Retry-After` beyond it is not waited for. */
const longestWaitMs = 30_000;
const never = new AbortController().signal;

/** Any OpenAI-compatible `/embeddings`. */
export class EndpointProvider implements EmbeddingProvider {
  readonly id: string;
  readonly semantic = true;
  readonly calibration: EmbeddingCalibration;
  private endpoint: OpenEndpoint | undefined;
  private dimensionsKnown: number;

  constructor(
    private readonly settings: EndpointSettings,
    private readonly circuit: CircuitBreaker,
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
    signal: AbortSignal = never,
  ): Promise<readonly Float32Array[]> {
    signal.throwIfAborted();
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += this.settings.batch) {
      vectors.push(...(await this.batch(texts.slice(at, at + this.settings.batch), kind, signal)));
    }
    return vectors;
  }

  async close(): Promise<void> {
    const { endpoint } = this;
    this.endpoint = undefined;
    await endpoint?.client.close();
  }

  /** Each kind has its own patience; what is learned about the endpoint counts for both. */
  private open(): OpenEndpoint {
    const { address, timeoutMs, retries, retryMs: pauseMs } = this.settings;
    const client = new EndpointClient(address, Math.max(timeoutMs.query, timeoutMs.document));
    const callsFor = (kind: EmbeddingKind): UpstreamCalls =>
      new UpstreamCalls(
        {
          retries: retries[kind],
          pauseMs,
          deadlineMs: (retries[kind] + 1) * timeoutMs[kind] + longestWaitMs,
        },
        (request, limitMs) => client.ask(request, Math.min(limitMs, timeoutMs[kind])),
        this.circuit,
      );
    return { client, calls: { query: callsFor('query'), document: callsFor('document') } };
  }

  private async batch(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    this.endpoint ??= this.open();
    const { client, calls } = this.endpoint;
    try {
      const vectors = await abortable(calls[kind].ask(client.question(texts), signal), signal);
      this.dimensionsKnown = vectors[0]?.length ?? this.dimensionsKnown;
      return vectors;
    } catch (error) {
      throw error instanceof UpstreamFailure ? unavailable(error) : error;
    }
  }
}

function unavailable(failure: UpstreamFailure): EmbeddingUnavailable {
  const message = `The embeddings endpoint gives no vectors: ${failure.message}`;
  return new EmbeddingUnavailable(troubles[failure.kind] ?? 'endpoint_failed', message, { cause: failure });
}

const troubles: Partial<Record<FailureKind, EmbeddingTrouble>> = {
  timeout: 'timed_out',
  circuit_open: 'circuit_open',
  invalid_answer: 'wrong_answer',
  answer_too_large: 'wrong_answer',
};
