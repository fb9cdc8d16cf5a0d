import { Module } from '@nestjs/common';
import { CountersModule } from '../../base/counters/counters.module.js';
import { InvestigationsController } from './investigations.controller.js';
import { InvestigationsService } from './investigations.service.js';

/** The budgets of investigations. */
@Module({
  imports: [CountersModule],
  controllers: [InvestigationsController],
  providers: [InvestigationsService],
  exports: [CountersModule, InvestigationsService],
})
export class InvestigationsModule {}
