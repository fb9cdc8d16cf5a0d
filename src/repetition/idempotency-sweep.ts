import { Injectable, Logger } from '@nestjs/common';
import { IntervalLoop } from '../common/interval-loop.js';
import { IdempotencyRepository } from './idempotency.repository.js';

const intervalMs = 300_000;

/** Removes keys whose time is over. */
@Injectable()
export class IdempotencySweep {
  private readonly logger = new Logger(IdempotencySweep.name);
  private readonly loop: IntervalLoop;

  constructor(repository: IdempotencyRepository) {
    this.loop = new IntervalLoop(
      async () => void (await repository.deleteExpired()),
      intervalMs,
      (error) => this.logger.warn(`Expired idempotency keys could not be removed: ${String(error)}`),
    );
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }
}
