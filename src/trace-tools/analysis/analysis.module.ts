import { Module } from '@nestjs/common';
import { InjectDataSource, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Llm, LlmModule } from '../../llm/llm.module.js';
import { ExecutionRecorder } from '../../tool-metrics/execution-recorder.js';
import { ToolMetricsModule } from '../../tool-metrics/tool-metrics.module.js';
import { ToolMetricsRepository } from '../../tool-metrics/tool-metrics.repository.js';
import { ToolRegistry } from '../../tools/tool-registry.js';
import { ToolsModule } from '../../tools/tools.module.js';
import { analysedSpans } from './analysed-spans.js';
import { analyzeWithLlm } from './analyze-with-llm.tool.js';
import { markExecutions } from './semantic-marks.js';
import { SpanAnalyst } from './span-analyst.js';

/** `analyze_with_llm`: a language model judges spans. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([]), LlmModule, ToolsModule, ToolMetricsModule],
})
export class AnalysisModule {
  constructor(
    registry: ToolRegistry,
    metrics: ToolMetricsRepository,
    recorder: ExecutionRecorder,
    { endpoint }: Llm,
    @InjectDataSource() db: DataSource,
  ) {
    registry.register(
      analyzeWithLlm({
        analyst: endpoint && new SpanAnalyst(endpoint),
        spans: (project, ids) => analysedSpans(db, project, ids),
        found: async (analysis, spans) => {
          // A call that was made just now may not be in the database yet.
          await recorder.catchUp();
          await markExecutions(analysis, spans, metrics, registry);
        },
      }),
    );
  }
}
