import { Logger, Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { InvestigationBudget } from './investigation-budget.js';
import { InvestigationHistory, InvestigationsService } from './investigations.service.js';
import { InvestigationsController } from './investigations.controller.js';

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
