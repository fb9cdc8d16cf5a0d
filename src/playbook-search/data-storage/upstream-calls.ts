import { setTimeout as delay } from 'node:timers/promises';
import type { CircuitBreaker } from '../../common/circuit-breaker.js';
import { Deadline } from '../../common/deadline.js';
import { newId } from '../../common/ids.js';
import type { HttpExchange, UpstreamRequest } from './http-exchange.js';
import { UpstreamFailure } from './upstream-failure.js';

export interface RetrySettings {
  /** Tries beside the first. */
  readonly retries: number;
  /** The longest pause before the first retry, in milliseconds; it doubles with each. */
  readonly pauseMs: number;
  /** For all tries and pauses of a question together, in milliseconds. */
  readonly deadlineMs: number;
}

/** What became of one try. */
export interface TryReport {
  /** From 1. */
  readonly attempt: number;
  readonly durationMs: number;
  /** Absent: it was answered. */
  readonly failure?: UpstreamFailure;
}

/** A question, and how its answer is taken apart. */
export interface Question<T> extends UpstreamRequest {
  /** @throws UpstreamFailure `invalid_answer` for what is not of the agreed shape */
  read(answer: unknown): T;
}

/**
 * Questions to one service: each is asked again while that may help and time is left, and not at all while the service
 * fails, for its circuit is asked before every try.
 */
export class UpstreamCalls {
  constructor(
    private readonly settings: RetrySettings,
    private readonly exchange: Pick<HttpExchange, 'send'>,
    private readonly circuit: CircuitBreaker,
    private readonly report: (report: TryReport) => void,
    /** 0 to 1, for the jitter. */
    private readonly random: () => number = Math.random,
  ) {}

  /**
   * @param signal aborts when nobody waits any more. A try under way goes on to its end, for what it learns about the
   * service counts, and its answer may serve the next one who asks; there is no other try.
   * @throws UpstreamFailure of the last try, or the signal's reason
   */
  async ask<T>(question: Question<T>, signal: AbortSignal): Promise<T> {
    const deadline = Deadline.ofSmallest([this.settings.deadlineMs]);
    let last: UpstreamFailure | undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.try(question, attempt, deadline.remainingMs());
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        // A circuit that opened meanwhile says less than what opened it.
        if (error.kind !== 'circuit_open' || !last) last = error;
        last.tries = error.kind === 'circuit_open' ? attempt - 1 : attempt;
        signal.throwIfAborted();
        const pauseMs = this.pauseAfter(attempt, error);
        if (!error.mayTryAgain || attempt > this.settings.retries || !this.hasTime(deadline, pauseMs))
          throw last;
        await delay(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
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
      const answer = question.read(await this.exchange.send(question, limitMs));
      ended();
      return answer;
    } catch (error) {
      if (error instanceof UpstreamFailure) ended(error);
      throw error;
    } finally {
      if (admission.kind === 'probe') admission.release();
    }
  }

  /** Full jitter, so that many who failed together do not come back together; at least what the service asks for. */
  private pauseAfter(attempt: number, { retryAfterMs }: UpstreamFailure): number {
    return Math.max(retryAfterMs, Math.round(this.random() * this.settings.pauseMs * 2 ** (attempt - 1)));
  }

  /** A try that has less time than the first pause would prove nothing about the service. */
  private hasTime(deadline: Deadline, pauseMs: number): boolean {
    return pauseMs + this.settings.pauseMs <= deadline.remainingMs();
  }
}
