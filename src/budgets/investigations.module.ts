import { Module } from '@nestjs/common';
import { CountersModule } from '../counters/counters.module.js';
import { Budgets } from './budgets.js';
import { InvestigationsController } from './investigations.controller.js';
import { InvestigationsService } from './investigations.service.js';

@Module({
  imports: [CountersModule],
  controllers: [InvestigationsController],
  providers: [Budgets, InvestigationsService],
  exports: [CountersModule],
})
export class InvestigationsModule {}
