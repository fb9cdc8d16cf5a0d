import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { DatabaseModule } from '../database/database.module.js';
import { EmbeddingsModule } from '../playbook-search/embeddings/embeddings.module.js';
import { SandboxModule } from '../sandbox/sandbox.module.js';
import { ToolMetricsModule } from '../tool-metrics/tool-metrics.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { HealthController } from './health.controller.js';
import { HealthIndicators } from './health.indicators.js';
import { HealthService } from './health.service.js';

@Module({
  // Terminus would log every failed probe as an error; the body says enough.
  imports: [
    TerminusModule.forRoot({ logger: false }),
    DatabaseModule,
    EmbeddingsModule,
    SandboxModule,
    ToolMetricsModule,
    ToolsModule,
  ],
  controllers: [HealthController],
  providers: [HealthIndicators, HealthService],
})
export class HealthModule {}
