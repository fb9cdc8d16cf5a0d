import { performance } from 'node:perf_hooks';
import type { ExecutionNotes, Release, Tool } from './tool.js';

/** What is left of an investigation's budget after this call. */
export interface BudgetState {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

const gates = ['budget', 'circuit'] as const;
export type Gate = (typeof gates)[number];

/**
 * The private pass of one call. The guards stamp it, the recorder starts it, the handler enters with it once:
 * a call that reaches the handler by any other way is thrown out. Whatever was reserved for the call hangs here
 * and is given back in one place when the call ends up refused.
 */
export class CallTicket {
  private readonly passed: Record<Gate, boolean> = { budget: false, circuit: false };
  private readonly onRefusal: Release[] = [];
  private readonly onEnd: Release[] = [];
  private stage: 'waiting' | 'started' | 'entered' | 'ended' = 'waiting';

  private startedAtMs = 0;

  /** The call is a half-open circuit's trial. */
  probe = false;
  /** What the execution learns on its way. */
  readonly notes: ExecutionNotes = { attempts: 1 };
  /** The input's JSON in its own order, where somebody has written it. */
  inputJson: string | undefined;
  /** Set by the budget guard for calls of an investigation. */
  budget: BudgetState | undefined;

  constructor(
    readonly executionId: string,
    readonly tool: Tool,
  ) {}

  stamp(gate: Gate): void {
    this.passed[gate] = true;
  }

  has(gate: Gate): boolean {
    return this.passed[gate];
  }

  /** Given back only if the call is refused after all (a budget unit). */
  returnIfRefused(release: Release): void {
    this.onRefusal.push(release);
  }

  /** Given back at the end, whatever it is (a queue place, a half-open permit). */
  returnAtEnd(release: Release): void {
    this.onEnd.push(release);
  }

  /** The recorder's step. */
  start(): void {
    const { budget, circuit } = this.passed;
    if (this.stage !== 'waiting' || !budget || !circuit) {
      const missing = gates.filter((gate) => !this.passed[gate]);
      throw new Error(
        `A call must pass its guards before it starts (missing: ${missing.join(', ') || this.stage})`,
      );
    }
    this.stage = 'started';
    this.startedAtMs = performance.now();
  }

  /** Whole milliseconds since the recorder started the clock. */
  elapsedMs(): number {
    return Math.round(performance.now() - this.startedAtMs);
  }

  /** The handler's step. */
  enter(): void {
    if (this.stage !== 'started') throw new Error('A call reaches its tool only through the door');
    this.stage = 'entered';
  }

  /** The door's last step. */
  end(refused: boolean): void {
    if (this.stage === 'ended') return;
    this.stage = 'ended';
    if (refused) for (const release of this.onRefusal) release();
    for (const release of this.onEnd) release();
  }
}
