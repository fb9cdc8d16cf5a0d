import { Injectable, Logger } from '@nestjs/common';
import type { OutcomeCode } from '../common/errors.js';
import { TypedEvents } from '../common/typed-events.js';
import type { OutcomeStatus } from '../tool-contract/tool-outcome.js';

/** Said synchronously at the end of every recorded execution. */
export interface ExecutionEvent {
  readonly executionId: string;
  readonly tool: string;
  readonly status: OutcomeStatus;
  /** `internal_error`: our own bug. */
  readonly errorType?: OutcomeCode | 'internal_error';
  /** The failure is the tool's own and feeds its circuit. */
  readonly fault: boolean;
  readonly executionTimeMs: number;
  /** End of the execution, milliseconds since 1970. */
  readonly at: number;
  readonly test: boolean;
  /** It was a half-open circuit's trial. */
  readonly probe: boolean;
  /** Absent: it belongs to none. */
  readonly investigationId?: string;
  /** The input; for hashes only, never to be kept or told. */
  readonly input?: unknown;
  /** Bytes of the result as JSON. */
  readonly outputSize?: number;
}

/** Says the end of every execution, synchronously; a listener that throws fails no call. */
@Injectable()
export class ExecutionEvents extends TypedEvents<ExecutionEvent> {
  constructor() {
    const logger = new Logger(ExecutionEvents.name);
    super((error) => logger.error(error, 'a listener of executions failed'));
  }
}
