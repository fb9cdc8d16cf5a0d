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

/**
 * Questions to one service: each is tried again while that may help and time is left, and no more while the service
 * fails (its circuit is asked before every try).
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
   * @param read takes the answer apart; throws UpstreamFailure for one that is not of the agreed shape
   * @throws UpstreamFailure of the last try, or the signal's reason
   */
  async ask<T>(request: UpstreamRequest, read: (answer: unknown) => T, signal: AbortSignal): Promise<T> {
    const deadline = Deadline.ofSmallest([this.settings.deadlineMs]);
    let last: UpstreamFailure | undefined;
    for (let attempt = 1; ; attempt++) {
      const admission = this.circuit.admit(newId());
      const result = await this.try(attempt, request, read, deadline, signal);
      if (!(result instanceof UpstreamFailure)) return result.answer;
    }
  }
}
