import { Logger, Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { InvestigationBudget } from './investigation-budget.js';
import { InvestigationHistory } from './investigation-history.js';
import { InvestigationsController } from './investigations.controller.js';
import { InvestigationsService } from './investigations.service.js';

@Module({
  controllers: [InvestigationsController],
  providers: [
    {
      provide: InvestigationBudget,
      inject: [APP_CONFIG],
      useFactory: ({ investigations }: AppConfig) => {
        const logger = new Logger(InvestigationBudget.name);
        return new InvestigationBudget(investigations, (message) => logger.warn(message));
      },
    },
    InvestigationHistory,
    InvestigationsService,
  ],
  exports: [InvestigationBudget],
})
export class InvestigationsModule {}
