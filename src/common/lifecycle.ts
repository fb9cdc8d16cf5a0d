import { Injectable } from '@nestjs/common';

export type LifecycleState = 'starting' | 'ready' | 'draining';

/** Where the server is between its start and its end; it only ever moves forward. */
@Injectable()
export class Lifecycle {
  private current: LifecycleState = 'starting';
  private readonly drainListeners = new Set<() => void>();

  get state(): LifecycleState {
    return this.current;
  }

  /** The server listens. What was told to drain meanwhile stays so. */
  ready(): void {
    if (this.current === 'starting') this.current = 'ready';
  }

  /** Readiness fails and new calls are refused from now on. */
  drain(): void {
    if (this.current === 'draining') return;
    this.current = 'draining';
    for (const listener of this.drainListeners) listener();
  }

  isDraining(): boolean {
    return this.current === 'draining';
  }

  /** Calls the listener once, when draining begins; at once if it has begun. */
  onDraining(listener: () => void): void {
    if (this.isDraining()) listener();
    else this.drainListeners.add(listener);
  }
}
