import { Injectable, Logger } from '@nestjs/common';
import type { CircuitChange } from '../../common/circuit-state.js';
import { TypedEvents } from '../../common/typed-events.js';
import type { TryReport } from '../../common/upstream-calls.js';

/** Where an answer came from: the service, or memory because the service gave none. */
export type AnswerOrigin = 'fetched' | 'stale';

/** What happens between us and the Data Storage service, for logs, metrics and traces. */
@Injectable()
export class DataStorageEvents {
  private readonly logger = new Logger(DataStorageEvents.name);
  private readonly onError = (error: unknown): void => this.logger.error(error);

  /** Every try, after its end. */
  readonly tries = new TypedEvents<TryReport>(this.onError);
  /** Every question that was answered. */
  readonly answers = new TypedEvents<AnswerOrigin>(this.onError);
  readonly circuit = new TypedEvents<CircuitChange>(this.onError);
}
