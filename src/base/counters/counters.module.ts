import { Logger, Module } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { getToken, makeCounterProvider } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import type { DataSource } from 'typeorm';
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
  if (database.url === undefined || !db)
    return new LocalCounters(callsPerTool, (message) => logger.warn(message));
  const shared = new SharedCounters(db, callsPerTool, here, database.sessionUrl === undefined);
  contributors?.addHealth('budgets', () => shared.health());
  return shared;
}
