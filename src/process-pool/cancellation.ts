import type { TerminationReason } from './pool.types.js';
import type { Exchange } from './tool-process.types.js';

/** Why a caller gave up what its tool may still end by itself. */
export type CancelReason = Extract<TerminationReason, 'timeout' | 'cancelled'>;

/**
 * A request whose caller is gone and whose tool was asked to end it: it holds its place on the process until the tool
 * answers (what it says goes nowhere), the process fails, or the grace is over.
 */
export class Cancellation implements Exchange {
  private readonly timer: NodeJS.Timeout;

  /**
   * @param graceMs how long the tool has
   * @param over called once; `inTime`: the tool answered, its process is as good as before
   */
  constructor(
    readonly givenUp: CancelReason,
    graceMs: number,
    private readonly over: (inTime: boolean) => void,
  ) {
    this.timer = setTimeout(() => over(false), graceMs);
  }

  answered(): void {
    this.end(true);
  }

  failed(): void {
    this.end(false);
  }

  private end(inTime: boolean): void {
    clearTimeout(this.timer);
    this.over(inTime);
  }
}
