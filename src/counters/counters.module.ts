import { Logger, Module } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { getToken, makeCounterProvider } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { sha256 } from '../common/canonical-json.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Contributors } from '../observability/contributors.js';
import { Counters, LocalCounters } from './counters.js';
import { KeptCounters } from './kept-counters.js';
import { SharedCounters } from './shared-counters.js';

const countedHere = 'toolkeeper_budget_local_total';

type Injected = [config: AppConfig, here: Counter, db?: DataSource, contributors?: Contributors];

/** Counters of calls: in the database if replicas may share it, else in memory. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  providers: [
    makeCounterProvider({
      name: countedHere,
      help: 'Calls whose budget or rate was counted by this replica alone, because the database was away',
      labelNames: ['kind'],
    }),
    {
      provide: Counters,
      inject: [
        ...[APP_CONFIG, getToken(countedHere)],
        ...[getDataSourceToken(), Contributors].map((token) => ({ token, optional: true })),
      ],
      useFactory: (...injected: Injected) => countersFor(...injected),
    },
    {
      // Counters in memory survive a restart in rows; those in the database need nothing beside them.
      provide: KeptCounters,
      inject: [Counters, { token: getDataSourceToken(), optional: true }],
      useFactory: (counters: Counters, db?: DataSource) =>
        counters instanceof LocalCounters && db ? new KeptCounters(counters, db) : null,
    },
  ],
  exports: [Counters],
})
export class CountersModule {}

function countersFor(...[{ database, investigations }, here, db, contributors]: Injected): Counters {
  const { callsPerTool } = investigations;
  const logger = new Logger(Counters.name);
  const warn = (message: string): void => logger.warn(message);
  if (database.url === undefined || !db) return new LocalCounters(callsPerTool, warn);
  const query = (text: string, values?: unknown[]): Promise<never[]> => prepared(db, text, values);
  const shared = new SharedCounters(query, callsPerTool, {
    countedHere: (kind) => here.inc({ kind }),
    warn,
  });
  contributors?.addHealth('budgets', () => shared.health());
  return shared;
}

/** Prepared once for each connection: planning takes four fifths of the time of a statement that is not. */
async function prepared(db: DataSource, text: string, values?: unknown[]): Promise<never[]> {
  const runner = db.createQueryRunner();
  try {
    const client = (await runner.connect()) as PoolClient;
    return (await client.query<never>({ name: sha256(text).slice(0, 32), text, values })).rows;
  } finally {
    await runner.release();
  }
}
