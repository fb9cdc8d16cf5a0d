import { performance } from 'node:perf_hooks';
import type { Deadline } from '../common/deadline.js';
import type { ExecutionNotes, Release, Tool } from './tool.js';
import type { ToolOutcome } from './tool-outcome.js';

/** The rest of an investigation's budget after this call. */
export interface BudgetState {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

/** An answer that needs no execution: a result that was kept, or the one of an equal call that ran meanwhile. */
export interface KeptAnswer {
  readonly outcome: ToolOutcome;
  readonly how: 'kept' | 'shared';
}

const steps = ['budget', 'circuit', 'capacity', 'recorder', 'tool'] as const;
/** The steps of a call, in this order. */
export type Step = (typeof steps)[number];

/**
 * The private pass of one call. Guards, recorder and handler each advance it by one step: a call that reaches one of
 * them by any other way than the door is thrown out. Its slot and its budget unit hang here and are given back in
 * one place when the call ends.
 */
export class CallTicket {
  private passed = 0;
  private isOver = false;
  private startedAtMs = 0;
  private readonly onRefusal: Release[] = [];
  private readonly onEnd: Release[] = [];

  /** The call is a half-open circuit's trial. */
  probe = false;
  /** Nothing is run: circuit, capacity and recorder let the call pass, and only the budget counts it. */
  kept: KeptAnswer | undefined;
  /** Set by the budget guard for calls of an investigation. */
  budget: BudgetState | undefined;
  /** The execution failed, and that counts against the tool's circuit. */
  toolFault = false;
  /** Notes of the execution, for its metric. */
  readonly notes: ExecutionNotes = { attempts: 1 };

  constructor(
    readonly executionId: string,
    readonly tool: Tool,
    /** The deadline of the whole call, from its way in. */
    readonly deadline: Deadline,
  ) {}

  /** @throws Error when the call has not come through every step before this one, or comes a second time */
  advance(step: Step): void {
    const expected = this.isOver ? undefined : steps[this.passed];
    if (step !== expected) {
      throw new Error(`A call reaches its tool only through the door (at ${step}, expected ${expected})`);
    }
    this.passed += 1;
    if (step === 'recorder') this.startedAtMs = performance.now();
  }

  /** Whole milliseconds since the recorder started the clock. */
  elapsedMs(): number {
    return Math.round(performance.now() - this.startedAtMs);
  }

  /** Given back only if the call is refused after all (a budget unit). */
  returnIfRefused(release: Release): void {
    this.onRefusal.push(release);
  }

  /** Slots that are given back at the end (of a queue, of a half-open circuit). */
  returnAtEnd(release: Release): void {
    this.onEnd.push(release);
  }

  /** The door's last step. */
  end(refused: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    if (refused) for (const release of this.onRefusal) release();
    for (const release of this.onEnd) release();
  }
}
