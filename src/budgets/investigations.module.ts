import { Logger, Module } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Counters } from '../counters/counters.js';
import { CountersModule } from '../counters/counters.module.js';
import { BudgetStore } from './budget-store.js';
import { InvestigationBudget } from './investigation-budget.js';
import { InvestigationHistory, InvestigationsService } from './investigations.service.js';
import { InvestigationsController } from './investigations.controller.js';
import { SharedBudget } from './shared-budget.js';

@Module({
  imports: [CountersModule],
  controllers: [InvestigationsController],
  providers: [
    {
      provide: BudgetStore,
      inject: [APP_CONFIG, Counters, getDataSourceToken()],
      useFactory: ({ database, investigations }: AppConfig, counters: Counters, db: DataSource) => {
        if (database.url !== undefined) return new SharedBudget(investigations, counters, db);
        const logger = new Logger(InvestigationBudget.name);
        return new InvestigationBudget(investigations, (message) => logger.warn(message));
      },
    },
    {
      // Budgets in memory survive a restart in rows; those in the database need nothing beside them.
      provide: InvestigationHistory,
      inject: [APP_CONFIG, BudgetStore, getDataSourceToken()],
      useFactory: (config: AppConfig, budgets: BudgetStore, db: DataSource) =>
        budgets instanceof InvestigationBudget ? new InvestigationHistory(config, budgets, db) : null,
    },
    InvestigationsService,
  ],
  exports: [BudgetStore],
})
export class InvestigationsModule {}
