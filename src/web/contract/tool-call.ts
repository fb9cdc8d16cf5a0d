import type { Cancellation } from '../../base/common/cancellation.js';
import type { NoticeListener } from '../../base/common/tool-notice.js';
import type { Asks } from './asks.js';
import type { CallContext } from './tool.js';
import type { BudgetState, CallTicket } from './call-ticket.js';
import type { Principal } from './principal.js';
import type { ToolOutcome } from './tool-outcome.js';

/** A call that was admitted: it cannot be refused any more. */
export interface CallStart {
  readonly executionId: string;
  readonly budget: BudgetState | undefined;
}

/** Kinds of executions: of a tool, or other requests to an MCP server. */
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
  readonly timeoutMs?: number;
  /** Cancelled when the caller disconnects. Absent: the call runs to its end. */
  readonly cancellation?: Cancellation | undefined;
  /** Called when the call is admitted. */
  readonly onStart?: (start: CallStart) => void;
  /** Receives the tool's notices while the call runs. */
  readonly onProgress?: NoticeListener;
  /** Lets the tool ask the caller, during the call or between two rounds. Absent if the caller cannot be asked. */
  readonly asks?: Asks | undefined;
  /** Upper bound of the bytes of the input, if the transport knows it. */
  readonly bytesAtMost?: number;
  /** The caller's key for this call. Calls with the same key run once. */
  readonly idempotencyKey?: string;
  /** Awaited before the tool or its process gets the call. @throws ToolFailure if it must not get it */
  readonly begin?: (() => Promise<void>) | undefined;
  /** Whether the call was queued: its rate was counted then, and its cancellation is by order, not by a disconnect. */
  readonly queued?: boolean;
  /** Id of the execution, if the transport has already generated a UUIDv7. */
  readonly executionId?: string | undefined;
  /** A test call by an operator: no budget, no circuit, no grade. */
  readonly test?: boolean;
  /** Id of the execution that this call repeats. */
  readonly replayOf?: string;
  /** Kind of the execution. Default: `tool`. */
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
  /** Present if the outcome is that of an earlier call with the same idempotency key. */
  readonly replayed?: true;
  /** Whether an interrupted call may run again with the same key: its tool did not get it, or is idempotent. */
  readonly mayRunAgain?: boolean;
}
