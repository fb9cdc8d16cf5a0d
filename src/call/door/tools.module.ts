import { Module } from '@nestjs/common';
import { AuthModule } from '../../web/auth/auth.module.js';
import { StartupWork } from '../../base/common/startup-work.js';
import { InvestigationsController } from '../budgets/investigations.controller.js';
import { InvestigationsService } from '../budgets/investigations.service.js';
import { Contributors } from '../../base/observability/contributors.js';
import { RepetitionModule } from '../repetition/repetition.module.js';
import { CountersModule } from '../../base/counters/counters.module.js';
import { CircuitsModule } from '../circuits/circuits.module.js';
import { ToolMetricsModule } from '../../records/executions/tool-metrics.module.js';
import { AsyncExecutions } from './async-executions.js';
import { CallChecks } from './call-checks.js';
import { callMetrics, CallReports } from './call-reports.js';
import { Door } from './door.js';
import { CallRounds } from './call-rounds.js';
import { OpenQuestions } from './open-questions.js';
import { findTools, ToolSearch } from './tool-search.js';
import { InputSchemas } from '../../base/schemas/input-validator.js';
import { ToolRegistry } from './tool-registry.js';
import { AsyncExecutionsController, ReplaysController, ToolsController } from './tools.controller.js';
import { ToolsService } from './tools.service.js';

/** The registry of tools, the door through which they are called, and the budgets that calls spend. */
@Module({
  imports: [AuthModule, ToolMetricsModule, CircuitsModule, RepetitionModule, CountersModule],
  controllers: [InvestigationsController, ToolsController, ReplaysController, AsyncExecutionsController],
  providers: [
    ToolRegistry,
    ToolSearch,
    InputSchemas,
    ...callMetrics,
    CallReports,
    CallChecks,
    Door,
    AsyncExecutions,
    InvestigationsService,
    OpenQuestions,
    CallRounds,
    ToolsService,
  ],
  exports: [
    AsyncExecutions,
    Door,
    OpenQuestions,
    ToolRegistry,
    InputSchemas,
    ToolsService,
    CallReports,
    ToolMetricsModule,
  ],
})
export class ToolsModule {
  constructor(
    registry: ToolRegistry,
    search: ToolSearch,
    startupWork: StartupWork,
    contributors: Contributors,
    budgets: InvestigationsService,
  ) {
    budgets.toolOf = (name) => registry.find(name);
    registry.register(findTools(search));
    // Up when all tools have been tried at the start. A tool that failed does not block the others.
    contributors.addHealth('tools', () => {
      const registered = registry.size;
      if (startupWork.isSettled()) return { status: 'up', registered };
      return { status: 'down', registered, message: 'still loading' };
    });
  }
}
