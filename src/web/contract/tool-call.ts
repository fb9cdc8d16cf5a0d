import type { Cancellation } from '../../base/common/cancellation.js';
import type { NoticeListener } from '../../base/common/tool-notice.js';
import type { Asks } from './asks.js';
import type { CallContext } from './tool.js';
import type { BudgetState, CallTicket } from './call-ticket.js';
import type { Principal } from './principal.js';
import type { ToolOutcome } from './tool-outcome.js';

/** A call that is about to run: it can no longer be refused. */
export interface CallStart {
  readonly executionId: string;
  readonly budget: BudgetState | undefined;
}

/** What an execution is of: a tool, or a request to an MCP server for something else. */
export const executionKinds = ['tool', 'resource', 'prompt', 'completion'] as const;
export type ExecutionKind = (typeof executionKinds)[number];

/** A caller's request to the door. */
export interface CallRequest {
  readonly tool: string;
  readonly input: unknown;
  readonly context: CallContext;
  readonly principal: Principal;
  /** Address of the caller, if the transport knows it. */
  readonly address?: string;
  /** The caller's own limit in milliseconds. */
  readonly timeoutMs?: number;
  /** Cancelled when the caller leaves; absent: the call runs on to its end. */
  readonly cancellation?: Cancellation | undefined;
  readonly onStart?: (start: CallStart) => void;
  /** Receives the tool's notices while the call runs. */
  readonly onProgress?: NoticeListener;
  /** How the caller can be asked while its call runs, or between two rounds of it. Absent: not at all. */
  readonly asks?: Asks | undefined;
  /** Bytes of the input as the transport received it, or more; absent if it does not know. */
  readonly bytesAtMost?: number;
  /** The caller's own name for this call: with the same one it is not run twice. */
  readonly idempotencyKey?: string;
  /** Comes before the tool, or a process of it, is given the call. @throws ToolFailure if it must not be given */
  readonly begin?: (() => Promise<void>) | undefined;
  /** It was queued: its rate was counted then, and its cancellation is its caller's order, not that the caller has left. */
  readonly queued?: boolean;
  /** Id of the execution, if the transport has a fresh UUIDv7 at hand. */
  readonly executionId?: string | undefined;
  /** A test call by an operator: no budget, no circuit, no grade. */
  readonly test?: boolean;
  /** The execution that is run once more. */
  readonly replayOf?: string;
  /** Absent: `tool`. */
  readonly kind?: ExecutionKind;
}

/** A request on its way through guards, recorder and handler. */
export interface ToolCall extends CallRequest {
  readonly ticket: CallTicket;
}

/** The door's answer to a call that was not refused. */
export interface CallAnswer {
  readonly outcome: ToolOutcome;
  /** The rest of the investigation's budget; absent without an investigation or a limit. */
  readonly budget?: BudgetState | undefined;
  /** An earlier call with the same idempotency key was answered so: nothing was run. */
  readonly replayed?: true;
  /** Interrupted, and with the same key it runs again: its tool was not given the call, or is idempotent. */
  readonly mayRunAgain?: boolean;
}
