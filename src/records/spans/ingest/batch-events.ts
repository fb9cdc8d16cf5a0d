import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../../../common/typed-events.js';
import type { ToldFailure } from './told-failures.js';

/** A batch of spans that is in the journal. */
export interface KeptBatch {
  readonly project: string;
  /** Number of spans that were taken. */
  readonly spans: number;
  /** The word of these spans about executions. */
  readonly told: readonly ToldFailure[];
}

/** Says of each batch that it is kept. */
@Injectable()
export class BatchEvents extends TypedEvents<KeptBatch> {
  constructor() {
    const logger = new Logger(BatchEvents.name);
    super((error) => logger.error(error, 'a listener of batches failed'));
  }
}
