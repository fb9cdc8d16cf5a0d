import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../web/auth/auth.module.js';
import { LlmModule } from '../llm/llm.module.js';
import { TracesModule } from '../../records/spans/traces.module.js';
import { ExperimentRuns } from './experiment-runs.js';
import { ExperimentsController } from './experiments.controller.js';
import { ExperimentsRepository } from './experiments.repository.js';
import { ExperimentsService } from './experiments.service.js';

/** Experiments: a model call's request, run again with changes and compared. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([]), AuthModule, LlmModule, TracesModule],
  controllers: [ExperimentsController],
  providers: [ExperimentRuns, ExperimentsRepository, ExperimentsService],
})
export class ExperimentsModule {}
