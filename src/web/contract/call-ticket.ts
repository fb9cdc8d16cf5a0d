import { performance } from 'node:perf_hooks';
import type { Deadline } from '../../base/common/deadline.js';
import type { ExecutionNotes, Release, Slot, Tool } from './tool.js';
import type { ToolOutcome } from './tool-outcome.js';

/** The rest of an investigation's budget after this call. */
export interface BudgetState {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since the epoch. */
  readonly resetsAt: number;
}

/** An answer without an execution. */
export interface CachedAnswer {
  readonly outcome: ToolOutcome;
  /** `kept`: a cached result. `shared`: the result of an equal call that was running. */
  readonly how: 'kept' | 'shared';
}

/**
 * The state of one call on its way through the door. Each guard and the recorder set a flag. The handler refuses a call without
 * all flags, so that no call can bypass the door. The ticket holds the slot and the budget of the call, and `end` returns both.
 */
export class CallTicket {
  /** Set by the guards of budget, circuit and capacity, and by the recorder, when the call has passed them. */
  budgeted = false;
  circuitPassed = false;
  admittedToQueue = false;
  recorded = false;

  /** Whether the call probes a half-open circuit. */
  probe = false;
  /** If it is set, nothing runs, and only the budget counts the call. */
  cachedAnswer: CachedAnswer | undefined;
  /** The slot in which the call runs. Set by the capacity guard, if the tool has slots. */
  slot: Slot | undefined;
  /** Set by the budget guard for calls of an investigation. */
  budget: BudgetState | undefined;
  /** Whether the execution failed by the tool's fault, which counts against its circuit. */
  toolFault = false;
  /** A sentence about the failure for callers with `tools:admin` only. */
  aside: string | undefined;
  /** Notes of the execution, for its metric. */
  readonly notes: ExecutionNotes = { attempts: 1 };
  /** Start of the recorder's clock, by performance.now(). */
  clockStartMs = 0;
  /** Start of the execution, in milliseconds since the epoch. */
  startedAt = 0;

  /** Returns the budget, if the call is refused after it was counted. */
  returnBudget: Release | undefined;
  /** Releases the slot of a half-open circuit, at the end of the call. */
  releaseProbe: Release | undefined;
  private isOver = false;

  constructor(
    readonly executionId: string,
    readonly tool: Tool,
    /** Deadline of the whole call, from its arrival. */
    readonly deadline: Deadline,
  ) {}

  /** @throws Error if the call has not passed all guards and the recorder, or has ended */
  assertAdmitted(): void {
    if (this.budgeted && this.circuitPassed && this.admittedToQueue && this.recorded && !this.isOver) return;
    throw new Error('A call reaches its tool only through the door');
  }

  /** Whole milliseconds since the recorder started the clock, without those for which a person was asked. */
  elapsedMs(): number {
    return Math.round(performance.now() - this.clockStartMs - (this.notes.askedMs ?? 0));
  }

  /** Ends the call and releases everything that it holds. */
  end(isRefused: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    if (isRefused) this.returnBudget?.();
    this.releaseProbe?.();
    this.slot?.release();
  }
}
