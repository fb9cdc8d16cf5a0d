import type { CallContext } from './call-context.js';
import type { CallTicket } from './call-ticket.js';

/** The authenticated caller. */
export interface Principal {
  /** Owner of the key, else `anonymous`. */
  readonly userId: string;
  readonly scopes: ReadonlySet<Scope>;
}

export const scopes = ['tools:call', 'tools:admin'] as const;
export type Scope = (typeof scopes)[number];

/** What a caller asks of the door. */
export interface CallRequest {
  readonly tool: string;
  readonly input: unknown;
  readonly context: CallContext;
  readonly principal: Principal;
  /** The caller's own limit in milliseconds. */
  readonly timeoutMs?: number;
  /** Aborts when the caller has left. */
  readonly signal?: AbortSignal;
  /** Bytes of the input as the transport received it, or more; absent where it does not know. */
  readonly bytesAtMost?: number;
  /** A trial run by an operator: no budget, no circuit, no grade. */
  readonly test?: boolean;
}

/** A request on its way through guards, recorder and handler. */
export interface ToolCall extends CallRequest {
  readonly ticket: CallTicket;
}
