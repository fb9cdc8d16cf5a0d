import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../common/typed-events.js';
import type { HealthStatus } from './grading.js';

/** A tool's grade of the last hour has changed; `at` is when that was seen, milliseconds since 1970. */
export interface HealthChange {
  readonly tool: string;
  readonly from: HealthStatus;
  readonly to: HealthStatus;
  readonly at: number;
  /** The text of the new grade's report: its issues, else that all is well. */
  readonly why: string;
}

/** Says every change of a tool's grade, synchronously; a listener that throws harms nobody. */
@Injectable()
export class HealthEvents extends TypedEvents<HealthChange> {
  constructor() {
    const logger = new Logger(HealthEvents.name);
    super((error) => logger.error(error, 'a listener of health failed'));
  }
}
