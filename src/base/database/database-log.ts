import { Logger } from '@nestjs/common';
import type { Logger as TypeOrmLogger } from 'typeorm';
import { sqlStateOf } from './transient-error.js';

/** SQLSTATE of a statement that PostgreSQL cancelled, usually after its timeout. */
const statementTimeout = '57014';

/**
 * Writes TypeORM's messages to the application's log; its own loggers would print to the console. The error of a query is
 * thrown to the caller, which logs it. Parameters are never logged.
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
