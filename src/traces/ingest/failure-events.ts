import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../../common/typed-events.js';
import type { ToldFailure } from './told-failures.js';

/** Says what the spans of a batch tell of executions, once the batch is kept. */
@Injectable()
export class FailureEvents extends TypedEvents<readonly ToldFailure[]> {
  constructor() {
    const logger = new Logger(FailureEvents.name);
    super((error) => logger.error(error, 'a listener of failures failed'));
  }
}
