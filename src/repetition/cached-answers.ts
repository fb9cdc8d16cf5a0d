import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../common/typed-events.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

/** A call that was answered with another one's result. */
export interface CachedAnswer {
  readonly outcome: ToolOutcome;
  /** What was asked; for hashes only, never to be kept or told. */
  readonly input: unknown;
  readonly investigationId: string | undefined;
}

/** Says, synchronously, when nothing was run; a listener that throws fails no call. */
@Injectable()
export class CachedAnswers extends TypedEvents<CachedAnswer> {
  constructor() {
    const logger = new Logger(CachedAnswers.name);
    super((error) => logger.error(error, 'a listener of cached answers failed'));
  }
}
