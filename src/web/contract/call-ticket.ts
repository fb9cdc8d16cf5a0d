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

/** An answer without an execution: a cached result (`kept`), or the result of an equal call that ran meanwhile (`shared`). */
export interface CachedAnswer {
  readonly outcome: ToolOutcome;
  readonly how: 'kept' | 'shared';
}

/**
 * The private pass of one call. Each guard and the recorder set their flag: the handler runs nothing that lacks one, so
 * a call that reaches it by any other way than the door fails. Its slot and its budget unit hang here and are given
 * back in one place when the call ends.
 */
export class CallTicket {
  budgeted = false;
  circuitPassed = false;
  admittedToQueue = false;
  recorded = false;

  /** The call probes a half-open circuit. */
  probe = false;
  /** Nothing is run: circuit, capacity and recorder let the call pass, and only the budget counts it. */
  kept: CachedAnswer | undefined;
  /** Set by the capacity guard for a tool that gives slots: the call runs in it. */
  slot: Slot | undefined;
  /** Set by the budget guard for calls of an investigation. */
  budget: BudgetState | undefined;
  /** The execution failed, and that counts against the tool's circuit. */
  toolFault = false;
  /** A sentence about the failure for callers with `tools:admin` only. */
  aside: string | undefined;
  /** Notes of the execution, for its metric. */
  readonly notes: ExecutionNotes = { attempts: 1 };
  /** Start of the recorder's clock, by performance.now(). */
  startedAtMs = 0;
  /** Start of the execution, in milliseconds since the epoch. */
  startedAt = 0;

  private isOver = false;
  private onRefusal: Release | undefined;
  private onEnd: Release | undefined;

  constructor(
    readonly executionId: string,
    readonly tool: Tool,
    /** The deadline of the whole call, from its way in. */
    readonly deadline: Deadline,
  ) {}

  /** @throws Error for a call that has not passed each guard and the recorder, or that has ended */
  assertAdmitted(): void {
    if (this.budgeted && this.circuitPassed && this.admittedToQueue && this.recorded && !this.isOver) return;
    throw new Error('A call reaches its tool only through the door');
  }

  /** Whole milliseconds since the recorder started the clock, without those for which a person was asked. */
  elapsedMs(): number {
    return Math.round(performance.now() - this.startedAtMs - (this.notes.askedMs ?? 0));
  }

  /** Gives the budget unit back if the call is refused after all. */
  returnIfRefused(release: Release): void {
    this.onRefusal = release;
  }

  /** Gives the slot of a half-open circuit back at the end. */
  returnAtEnd(release: Release): void {
    this.onEnd = release;
  }

  /** The door's last step. */
  end(refused: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    if (refused) this.onRefusal?.();
    this.onEnd?.();
    this.slot?.release();
  }
}
