import { Logger } from '@nestjs/common';
import type { Logger as TypeOrmLogger } from 'typeorm';
import { sqlStateOf } from './transient-error.js';

const statementTimeout = '57014';

/**
 * TypeORM's messages in the application's log, where its own loggers would print to the console. A query's failure is
 * thrown to the caller, which logs it; parameters are never logged.
 */
export class DatabaseLog implements TypeOrmLogger {
  private readonly logger = new Logger('Database');

  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    if (level === 'warn') this.logger.warn(String(message));
  }

  logMigration(message: string): void {
    this.logger.log(message);
  }

  logQuerySlow(timeMs: number, query: string): void {
    this.logger.warn(`A query took ${timeMs} ms: ${query}`);
  }

  logQuery(): void {}

  logQueryError(error: string | Error): void {
    if (sqlStateOf(error) === statementTimeout)
      this.logger.warn(`A statement was given up: ${String(error)}`);
  }

  logSchemaBuild(message: string): void {
    if (message.endsWith('executed successfully.')) this.logger.log(message);
  }
}
