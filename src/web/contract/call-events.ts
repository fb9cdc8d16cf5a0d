import { Injectable, Logger } from '@nestjs/common';
import type { OutcomeCode, Refusal } from '../../base/common/errors.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import type { CallContext } from './tool.js';
import type { CachedAnswer } from './call-ticket.js';
import type { OutcomeStatus } from './tool-outcome.js';

/** Members of all events. */
interface EndOfCall {
  /** The name of a registered tool. */
  readonly tool: string;
  /** The input; for hashes only, never to be stored or logged. */
  readonly input: unknown;
  readonly context: CallContext;
}

/** The end of an execution that was admitted. */
export interface ExecutedCall extends EndOfCall {
  readonly kind: 'executed';
  readonly executionId: string;
  readonly status: OutcomeStatus;
  /** `internal_error`: a bug of the server. */
  readonly errorType?: OutcomeCode | 'internal_error' | undefined;
  /** JSON-RPC code of the failure. */
  readonly errorCode?: number | undefined;
  /** Whether the failure is the tool's fault, which counts for its circuit. */
  readonly fault: boolean;
  readonly executionTimeMs: number;
  /** End of the execution, milliseconds since the epoch. */
  readonly at: number;
  /** Whether it was a test call by an operator. */
  readonly test: boolean;
  /** Whether it probed a half-open circuit. */
  readonly probe: boolean;
  /** Bytes of the result as JSON. */
  readonly outputSize?: number | undefined;
}

/** A call that was answered with a cached or shared result, without an execution. */
export interface CachedCall extends EndOfCall, CachedAnswer {
  readonly kind: 'cached';
}

/** A call that was refused. */
export interface RefusedCall extends EndOfCall {
  readonly kind: 'refused';
  readonly refusal: Refusal;
}

export type CallEvent = ExecutedCall | CachedCall | RefusedCall;

type EventsByKind = { readonly [K in CallEvent['kind']]: TypedEvents<Extract<CallEvent, { kind: K }>> };

/**
 * Emits the end of each call of a known tool once: executed, cached or refused. Replayed calls and `forbidden` are only
 * counted. Events are synchronous, and a listener that throws does not fail the call.
 */
@Injectable()
export class CallEvents {
  private readonly logger = new Logger(CallEvents.name);
  private readonly byKind: EventsByKind = {
    executed: this.newEvents(),
    cached: this.newEvents(),
    refused: this.newEvents(),
  };
  private readonly byTool = new Map<string, TypedEvents<CallEvent>>();

  /** Listens for events of one kind. @returns a function that ends the subscription */
  subscribe<K extends CallEvent['kind']>(
    kind: K,
    listener: (event: Extract<CallEvent, { kind: K }>) => void,
  ): () => void {
    return this.byKind[kind].subscribe(listener);
  }

  /** Listens for all events of one tool. @returns a function that ends the subscription */
  subscribeTo(tool: string, listener: (event: CallEvent) => void): () => void {
    const events = this.byTool.get(tool) ?? this.newEvents<CallEvent>();
    this.byTool.set(tool, events);
    return events.subscribe(listener);
  }

  emit(event: CallEvent): void {
    (this.byKind[event.kind] as TypedEvents<CallEvent>).emit(event);
    this.byTool.get(event.tool)?.emit(event);
  }

  private newEvents<E extends CallEvent>(): TypedEvents<E> {
    return new TypedEvents((error) => this.logger.error(error, 'a listener of calls failed'));
  }
}
