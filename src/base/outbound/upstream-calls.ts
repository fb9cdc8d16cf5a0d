import { DelegateBackoff, handleWhen, retry } from 'cockatiel';
import { backOff } from '../common/back-off.js';
import { CircuitBreaker } from './breaker/circuit-breaker.js';
import { Deadline } from '../common/deadline.js';
import type { HttpRequest } from './http-client.js';
import { newId } from '../common/ids.js';
import { UpstreamFailure } from './upstream-failure.js';
import { systemClock } from '../common/clock.js';

export interface RetrySettings {
  /** Tries beside the first. */
  readonly retries: number;
  /** The longest pause before the first retry, in milliseconds; it doubles with each. */
  readonly pauseMs: number;
  /** Limit for all tries and pauses of a question together, in milliseconds. */
  readonly deadlineMs: number;
}

/** The end of one try. */
export interface TryReport {
  /** The first is 1. */
  readonly attempt: number;
  readonly durationMs: number;
  /** Absent: it was answered. */
  readonly failure?: UpstreamFailure;
}

/** A question, and how its answer is taken apart. */
export interface Question<T> extends HttpRequest {
  /** @throws UpstreamFailure `invalid_answer` for what is not of the agreed shape */
  readonly read: (answer: unknown) => T;
}

/**
 * Questions to one service: each is asked again while that may help and time is left, and not at all while the service
 * fails, for its circuit is asked before every try.
 */
export class UpstreamCalls {
  constructor(
    private readonly settings: RetrySettings,
    /** @param limitMs what is left of the time for the whole question */
    private readonly send: (request: HttpRequest, limitMs: number) => Promise<unknown>,
    private readonly circuit: CircuitBreaker,
    private readonly report: (report: TryReport) => void = () => undefined,
  ) {}

  /**
   * @param signal aborts when nobody waits any more. A try under way goes on to its end, for what it learns about the
   * service counts, and its answer may serve the next one who asks; there is no other try.
   * @throws UpstreamFailure of the last try, or the signal's reason
   */
  async ask<T>(question: Question<T>, signal: AbortSignal): Promise<T> {
    const deadline = Deadline.ofSmallest([this.settings.deadlineMs]);
    let last: UpstreamFailure | undefined;
    try {
      return await this.retrying(deadline).execute(async ({ attempt }) => {
        signal.throwIfAborted();
        try {
          return await this.try(question, attempt + 1, deadline.remainingMs());
        } catch (error) {
          if (isTried(error)) last = error;
          throw error;
        }
      }, signal);
    } catch (error) {
      // The error that opened the circuit is more informative than the open circuit.
      throw error instanceof UpstreamFailure ? (last ?? error) : error;
    }
  }

  /** A service that asks for more time than there is, is not asked again. */
  private retrying(deadline: Deadline) {
    const { retries, pauseMs: firstMs, deadlineMs: maxMs } = this.settings;
    let failures = 0;
    let pauseMs = 0;
    const again = handleWhen((error) => {
      if (!(error instanceof UpstreamFailure) || !error.mayTryAgain) return false;
      // Full jitter, so that many who failed together do not come back together.
      pauseMs = Math.max(error.retryAfterMs, backOff(++failures, { firstMs, maxMs, jitter: 1 }));
      // A try that has less time than the first pause would prove nothing about the service.
      return pauseMs + firstMs <= deadline.remainingMs();
    });
    return retry(again, { maxAttempts: retries, backoff: new DelegateBackoff(() => pauseMs) });
  }

  private async try<T>(question: Question<T>, attempt: number, limitMs: number): Promise<T> {
    const executionId = newId();
    const admission = this.circuit.admit(executionId);
    if (admission.kind === 'refuse') {
      throw new UpstreamFailure('circuit_open', `not asked: ${admission.reason}`, admission.retryAfterMs);
    }
    const begun = performance.now();
    const ended = (failure?: UpstreamFailure): void => {
      this.circuit.record({ executionId, fault: failure?.isFault ?? false });
      this.report({ attempt, durationMs: performance.now() - begun, ...(failure && { failure }) });
    };
    try {
      const { read, ...request } = question;
      const answer = read(await this.send(request, limitMs));
      ended();
      return answer;
    } catch (error) {
      if (error instanceof UpstreamFailure) {
        error.tries = attempt;
        ended(error);
      }
      throw error;
    } finally {
      if (admission.kind === 'probe') admission.release();
    }
  }
}

const isTried = (error: unknown): error is UpstreamFailure =>
  error instanceof UpstreamFailure && error.kind !== 'circuit_open';

/** A model behind an OpenAI-compatible endpoint. */
export interface ModelAddress {
  /** Up to the service's own path, such as `/embeddings`, which is added unless the URL ends so. */
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

export const keyHeader = ({ apiKey }: ModelAddress): Readonly<Record<string, string>> =>
  apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };

/** An endpoint that fails half of its tries is left alone; then one request probes it. */
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
