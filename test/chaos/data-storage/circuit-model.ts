import type { CircuitKind, CircuitSettings } from '../../../src/base/outbound/breaker/circuit-state.js';
import type { Fault } from './faults.js';

/** Retries and circuit as the design words them, with a list of samples; it shares no code with them. */
export class CircuitModel {
  state: CircuitKind = 'closed';
  tries = 0;
  private samples: { at: number; failed: boolean }[] = [];
  private until = 0;

  constructor(private readonly settings: CircuitSettings) {}

  passTo(now: number): void {
    if (this.state === 'open' && now >= this.until) this.state = 'half_open';
  }

  /** @returns how the question ends */
  ask(fault: Fault | undefined, now: number): string {
    for (let attempt = 1; attempt <= (fault?.tries ?? 1); attempt++) {
      if (this.state === 'open') return attempt === 1 ? 'circuit_open' : (fault?.kind ?? 'ok');
      this.tries += 1;
      this.sample(fault !== undefined && fault.kind !== 'rejected', now);
    }
    return fault?.kind ?? 'ok';
  }

  private sample(failed: boolean, at: number): void {
    this.samples.push({ at, failed });
    if (this.state === 'half_open') {
      if (failed) this.open(at);
      else this.close();
      return;
    }
    // The window goes by sixtieths.
    const slice = this.settings.windowMs / 60;
    this.samples = this.samples.filter((one) => Math.floor(at / slice) - Math.floor(one.at / slice) < 60);
    const failures = this.samples.filter((one) => one.failed).length;
    const { minCalls = 0, minFailureRate } = this.settings;
    const isFailing = this.samples.length >= minCalls && failures / this.samples.length >= minFailureRate;
    if (failed && isFailing) this.open(at);
  }

  private close(): void {
    this.state = 'closed';
    this.samples = [];
  }

  private open(at: number): void {
    this.state = 'open';
    // Later openings may be up to a fifth shorter, by chance: no pause of a story ends within that fifth.
    this.until = at + this.settings.openMs;
  }
}
