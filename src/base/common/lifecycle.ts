import { Injectable } from '@nestjs/common';

/**
 * `leaving`: readiness fails, and calls are still accepted until the load balancer has seen it. `draining`: new calls are
 * refused, and streams end.
 */
export type LifecycleState = 'starting' | 'ready' | 'leaving' | 'draining';

/** The state of the server, which only moves forward. */
@Injectable()
export class Lifecycle {
  private current: LifecycleState = 'starting';
  /** Running HTTP requests, until the end of their answer. */
  readonly requests = new InFlight();
  /** Running executions, from the record of their start to that of their end. */
  readonly executions = new InFlight();
  private readonly drainStart = new AbortController();

  get state(): LifecycleState {
    return this.current;
  }

  /** Marks the server as listening, unless it is draining already. */
  ready(): void {
    if (this.current === 'starting') this.current = 'ready';
  }

  /** Lets readiness fail from now on. Calls are still accepted. */
  leave(): void {
    if (this.current !== 'draining') this.current = 'leaving';
  }

  /** Refuses new calls and ends streams from now on. */
  drain(): void {
    this.current = 'draining';
    this.drainStart.abort();
  }

  /** Aborts when the drain begins, so that endless answers end. */
  get drainSignal(): AbortSignal {
    return this.drainStart.signal;
  }
}

/** Counts running work and notifies when none is left. */
export class InFlight {
  private current = 0;
  /** Number of pieces of work that have begun so far. */
  begun = 0;
  private onIdle: (() => void) | undefined;

  get count(): number {
    return this.current;
  }

  begin(): void {
    this.begun += 1;
    this.current += 1;
  }

  end(): void {
    this.current -= 1;
    if (this.current === 0) this.onIdle?.();
  }

  /** Counts a piece of work from its beginning to its end. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /**
   * Resolves when no work is running, or at the timeout. It has one waiter at a time: an earlier one is no longer notified and
   * waits for its timeout.
   */
  idle(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.current === 0) this.onIdle();
    });
  }
}
