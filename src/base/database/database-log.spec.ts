import { Logger, type LoggerService } from '@nestjs/common';
import { DatabaseLog } from './database-log.js';

describe('DatabaseLog', () => {
  const lines: string[] = [];
  const into = (level: string) => (message: unknown) => void lines.push(`${level} ${String(message)}`);
  const sink: LoggerService = { log: into('log'), warn: into('warn'), error: into('error') };
  beforeEach(() => {
    lines.length = 0;
    Logger.overrideLogger(sink);
  });

  it('passes on what an operator must know, and no query', () => {
    const log = new DatabaseLog();
    log.log('warn', 'Postgres pool raised an error');
    log.log('info', 'chatter');
    log.logMigration('Migration "X" failed');
    log.logSchemaBuild('Migration X has been executed successfully.');
    log.logSchemaBuild('1 migrations are already loaded in the database.');
    log.logQuerySlow(1200, 'SELECT 1');
    log.logQuery();
    log.logQueryError(new Error('x'));
    expect(lines).toEqual([
      'warn Postgres pool raised an error',
      'log Migration "X" failed',
      'log Migration X has been executed successfully.',
      'warn A query took 1200 ms: SELECT 1',
    ]);
  });
});
