import { DelegateBackoff, handleWhen, retry } from 'cockatiel';
import { backOff } from '../common/back-off.js';
import { CircuitBreaker } from './breaker/circuit-breaker.js';
import { Deadline } from '../common/deadline.js';
import type { HttpRequest } from './http-client.js';
import { newId } from '../common/ids.js';
import { UpstreamFailure } from './upstream-failure.js';
import { systemClock } from '../common/clock.js';

/** Limits of a question's tries. */
export interface RetrySettings {
  /** Max tries after the first. */
  readonly retries: number;
  /** Max pause before the first retry, in milliseconds. It doubles with each retry. */
  readonly pauseMs: number;
  /** Timeout of all tries and pauses of a question together, in milliseconds. */
  readonly deadlineMs: number;
}

/** The end of one try. */
export interface TryReport {
  /** Number of the try, from 1. */
  readonly attempt: number;
  readonly durationMs: number;
  /** Absent if the try succeeded. */
  readonly failure?: UpstreamFailure;
}

/** A request with a function that reads its answer. */
export interface Question<T> extends HttpRequest {
  /** Reads an answer. @throws UpstreamFailure `invalid_answer` if it has an unexpected form */
  readonly read: (answer: unknown) => T;
}

/** Calls to one service, retried while that may help and time is left. The service's circuit is checked before each try. */
export class UpstreamCalls {
  constructor(
    private readonly settings: RetrySettings,
    /** @param limitMs time left for the whole question */
    private readonly send: (request: HttpRequest, limitMs: number) => Promise<unknown>,
    private readonly circuit: CircuitBreaker,
    private readonly report: (report: TryReport) => void = () => undefined,
  ) {}

  /**
   * Asks a question.
   * @param signal aborts when the answer is not needed any more. A running try goes on, because its result counts for the
   *   circuit and may answer the next caller; no further try is made.
   * @throws UpstreamFailure of the last try, or the signal's reason
   */
  async ask<T>(question: Question<T>, signal: AbortSignal): Promise<T> {
    const deadline = Deadline.ofSmallest([this.settings.deadlineMs]);
    let lastTried: UpstreamFailure | undefined;
    try {
      return await this.retryPolicy(deadline).execute(async ({ attempt }) => {
        signal.throwIfAborted();
        try {
          return await this.try(question, attempt + 1, deadline.remainingMs());
        } catch (error) {
          if (isTried(error)) lastTried = error;
          throw error;
        }
      }, signal);
    } catch (error) {
      // The error that opened the circuit is more informative than the open circuit.
      throw error instanceof UpstreamFailure ? (lastTried ?? error) : error;
    }
  }

  /** The policy of one question. There is no retry if the service asks for a longer pause than the time left. */
  private retryPolicy(deadline: Deadline) {
    const { retries, pauseMs: firstMs, deadlineMs: maxMs } = this.settings;
    let failures = 0;
    let pauseMs = 0;
    const mayRetry = handleWhen((error) => {
      if (!(error instanceof UpstreamFailure) || !error.mayTryAgain) return false;
      // Full jitter, so that callers that failed together do not retry together.
      pauseMs = Math.max(error.retryAfterMs, backOff(++failures, { firstMs, maxMs, jitter: 1 }));
      // A try with less time than the first pause would tell nothing about the service.
      return pauseMs + firstMs <= deadline.remainingMs();
    });
    return retry(mayRetry, { maxAttempts: retries, backoff: new DelegateBackoff(() => pauseMs) });
  }

  /** Makes one try, if the circuit admits it, and records its result. @throws UpstreamFailure */
  private async try<T>(question: Question<T>, attempt: number, limitMs: number): Promise<T> {
    const executionId = newId();
    const admission = this.circuit.admit(executionId);
    if (admission.kind === 'refuse') {
      throw new UpstreamFailure('circuit_open', `not asked: ${admission.reason}`, admission.retryAfterMs);
    }
    const startedAt = performance.now();
    const recordEnd = (failure?: UpstreamFailure): void => {
      this.circuit.record({ executionId, fault: failure?.isFault ?? false });
      this.report({ attempt, durationMs: performance.now() - startedAt, ...(failure && { failure }) });
    };
    try {
      const { read, ...request } = question;
      const answer = read(await this.send(request, limitMs));
      recordEnd();
      return answer;
    } catch (error) {
      if (error instanceof UpstreamFailure) {
        error.tries = attempt;
        recordEnd(error);
      }
      throw error;
    } finally {
      if (admission.kind === 'probe') admission.release();
    }
  }
}

/** Whether the service was asked, so that the failure is its own. */
const isTried = (error: unknown): error is UpstreamFailure =>
  error instanceof UpstreamFailure && error.kind !== 'circuit_open';

/** A model behind an OpenAI-compatible endpoint. */
export interface ModelAddress {
  /** Base URL. The service's path, such as `/embeddings`, is added unless the URL ends with it. */
  readonly url: string;
  readonly model: string;
  readonly apiKey: string | undefined;
}

/** The URL of one service of an endpoint. */
export function endpointUrl({ url: base }: ModelAddress, service: `/${string}`): URL {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith(service) ? path : `${path}${service}`;
  return url;
}

/** The header with the endpoint's API key, if it has one. */
export const keyHeader = ({ apiKey }: ModelAddress): Readonly<Record<string, string>> =>
  apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };

/** A circuit that opens if half of the tries fail; one request probes it. */
export const endpointBreaker = (): CircuitBreaker =>
  new CircuitBreaker(
    {
      failures: 1,
      minCalls: 5,
      minFailureRate: 0.5,
      windowMs: 300_000,
      openMs: 30_000,
      maxOpenMs: 30_000,
      probes: 1,
      faultsAre: 'failures',
    },
    systemClock,
    Math.random,
  );
