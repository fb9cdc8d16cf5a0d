import { Injectable } from '@nestjs/common';
import { InFlight } from './in-flight.js';

export type LifecycleState = 'starting' | 'ready' | 'draining';

/** Where the server is between its start and its end; it only ever moves forward. */
@Injectable()
export class Lifecycle {
  private current: LifecycleState = 'starting';
  /** HTTP requests between their arrival and the end of their answer. */
  readonly requests = new InFlight();
  private readonly drainStart = new AbortController();

  get state(): LifecycleState {
    return this.current;
  }

  /** The server listens. A server that was told to drain meanwhile goes on draining. */
  ready(): void {
    if (this.current === 'starting') this.current = 'ready';
  }

  /** Readiness fails and new calls are refused from now on. */
  drain(): void {
    this.current = 'draining';
    this.drainStart.abort();
  }

  /** Aborts when the drain begins: answers that would go on without end are ended then. */
  get draining(): AbortSignal {
    return this.drainStart.signal;
  }

  isDraining(): boolean {
    return this.current === 'draining';
  }
}
