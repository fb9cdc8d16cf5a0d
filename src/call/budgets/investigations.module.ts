import { Module } from '@nestjs/common';
import { CountersModule } from '../../base/counters/counters.module.js';
import { InvestigationsController } from './investigations.controller.js';
import { InvestigationsService } from './investigations.service.js';

@Module({
  imports: [CountersModule],
  controllers: [InvestigationsController],
  providers: [InvestigationsService],
  exports: [CountersModule],
})
export class InvestigationsModule {}
