import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../common/typed-events.js';
import type { ExecutionEvent } from './execution-event.js';

/** Says the end of every execution, synchronously; a listener that throws fails no call. */
@Injectable()
export class ExecutionEvents extends TypedEvents<ExecutionEvent> {
  constructor() {
    const logger = new Logger(ExecutionEvents.name);
    super((error) => logger.error(error, 'a listener of executions failed'));
  }
}
