import { Logger } from '@nestjs/common';
import type { QueryRunner } from 'typeorm';
import { DatabaseUnavailable } from '../common/errors.js';
import { whyUnavailable } from './passing-error.js';

/** While connections fail, some still work, as where the pool is too small: no line for each change of that. */
const quietMs = 10_000;

/**
 * Whether the database can be asked. A statement that fails because it cannot is answered with
 * DatabaseUnavailable. The log says when that begins and when it is over, not once for every statement between.
 */
export class DatabaseReach {
  private away = false;
  private quietUntil = 0;

  constructor(
    private readonly logger: Pick<Logger, 'error' | 'warn' | 'log'> = new Logger('Database'),
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @returns the same runner */
  watch(runner: QueryRunner): QueryRunner {
    const connect = runner.connect.bind(runner) as () => Promise<unknown>;
    const query = runner.query.bind(runner) as (...args: unknown[]) => Promise<unknown>;
    const fail = (error: unknown): never => {
      throw this.failure(error, runner);
    };
    runner.connect = () => connect().catch(fail);
    runner.query = ((...args: unknown[]) => query(...args).then(this.answered, fail)) as QueryRunner['query'];
    return runner;
  }

  private readonly answered = (rows: unknown): unknown => {
    if (this.away) this.isBack();
    return rows;
  };

  private failure(error: unknown, { isReleased, isTransactionActive }: QueryRunner): unknown {
    if (error instanceof DatabaseUnavailable) return error;
    // TypeORM lets go of a connection that breaks between two statements, and calls the next one a mistake.
    const why =
      isReleased && isTransactionActive
        ? { reason: 'The connection was lost within a transaction', tooSlow: false }
        : whyUnavailable(error);
    if (why === undefined) return error;
    if (why.tooSlow) this.logger.warn(`A statement was given up: ${why.reason}`);
    else this.isAway(why.reason);
    return new DatabaseUnavailable(why.reason);
  }

  private isAway(reason: string): void {
    if (!this.away && this.now() >= this.quietUntil) {
      this.logger.error(`The database cannot be asked: ${reason}`);
      this.away = true;
    }
  }

  private isBack(): void {
    this.away = false;
    this.quietUntil = this.now() + quietMs;
    this.logger.log('The database answers again');
  }
}
