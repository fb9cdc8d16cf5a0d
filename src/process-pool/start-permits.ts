import type { Release } from '../tool-contract/tool.js';
import type { PoolParts } from './pool-parts.js';

const reasons = {
  budget: 'the server runs as many processes as it may (CUSTOM_TOOLS_MAX_PROCESSES)',
  gate: 'as many processes as may start at a time were starting (CUSTOM_TOOLS_MAX_CONCURRENT_STARTS)',
};

/** Leave of both caps over all pools to start a process: how many there may be, and how many may start at a time. */
export class StartPermits {
  private refusal: keyof typeof reasons | undefined;

  constructor(private readonly parts: Pick<PoolParts, 'budget' | 'gate' | 'user'>) {
    parts.budget.join(parts.user);
  }

  /** Who refused last time, while the pool still waits to be told. */
  get refusedBy(): keyof typeof reasons | undefined {
    return this.refusal;
  }

  /** The same in words, with the setting. */
  get whyRefused(): string | undefined {
    return this.refusal && reasons[this.refusal];
  }

  /**
   * @param urgent a request waits for the process
   * @returns ends the start; undefined when the pool has to wait until it is told
   */
  tryTake(urgent: boolean): Release | undefined {
    const { budget, gate, user } = this.parts;
    this.refusal = 'budget';
    if (!budget.hasRoom(user, urgent)) return undefined;
    this.refusal = 'gate';
    const leave = gate.tryEnter(user, urgent);
    if (!leave) return undefined;
    this.refusal = undefined;
    budget.take(user);
    return leave;
  }

  /** A process has ended. */
  give(): void {
    this.parts.budget.give(this.parts.user);
  }

  /** Nothing is to be started for now. */
  withdraw(): void {
    if (!this.refusal) return;
    this.refusal = undefined;
    this.parts.budget.withdraw(this.parts.user);
    this.parts.gate.withdraw(this.parts.user);
  }

  /** The pool has ended. */
  leave(): void {
    this.parts.budget.leave(this.parts.user);
    this.parts.gate.withdraw(this.parts.user);
  }
}
