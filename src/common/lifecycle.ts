import { Injectable } from '@nestjs/common';
import { InFlight } from './in-flight.js';

export type LifecycleState = 'starting' | 'ready' | 'draining';

/** Where the server is between its start and its end; it only ever moves forward. */
@Injectable()
export class Lifecycle {
  private current: LifecycleState = 'starting';
  /** HTTP requests between their arrival and the end of their answer. */
  readonly requests = new InFlight();

  get state(): LifecycleState {
    return this.current;
  }

  /** The server listens. What was told to drain meanwhile stays so. */
  ready(): void {
    if (this.current === 'starting') this.current = 'ready';
  }

  /** Readiness fails and new calls are refused from now on. */
  drain(): void {
    this.current = 'draining';
  }

  isDraining(): boolean {
    return this.current === 'draining';
  }
}
