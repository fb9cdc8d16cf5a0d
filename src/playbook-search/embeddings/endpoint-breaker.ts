import type { Clock } from '../../common/clock.js';

type State =
  { readonly is: 'closed' } | { readonly is: 'open'; readonly until: number } | { readonly is: 'probing' };

/**
 * Spares an endpoint that fails, and its askers the wait: after `failures` in a row it is left alone for `openMs`,
 * then one request probes it. A pure state machine; its user reports what became of every request that it let through.
 */
export class EndpointBreaker {
  private state: State = { is: 'closed' };
  private inARow = 0;

  constructor(
    private readonly settings: { readonly failures: number; readonly openMs: number },
    private readonly clock: Clock,
  ) {}

  /** @returns whether a request may go out now */
  admit(): boolean {
    if (this.state.is === 'closed') return true;
    if (this.state.is === 'probing' || this.clock.now() < this.state.until) return false;
    this.state = { is: 'probing' };
    return true;
  }

  succeeded(): void {
    this.inARow = 0;
    this.state = { is: 'closed' };
  }

  failed(): void {
    this.inARow++;
    if (this.state.is === 'probing' || this.inARow >= this.settings.failures) this.open(this.settings.openMs);
  }

  /** Its asker left before it could tell: the next one may probe at once. */
  left(): void {
    if (this.state.is === 'probing') this.open(0);
  }

  private open(ms: number): void {
    this.state = { is: 'open', until: this.clock.now() + ms };
  }
}
