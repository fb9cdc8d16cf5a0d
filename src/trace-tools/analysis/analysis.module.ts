import { Module } from '@nestjs/common';
import { InjectDataSource, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Llm, LlmModule } from '../../llm/llm.module.js';
import { ToolMetricsModule } from '../../tool-metrics/tool-metrics.module.js';
import { ToolRegistry } from '../../tools/tool-registry.js';
import { ToolsModule } from '../../tools/tools.module.js';
import { FailureEvents } from '../../traces/ingest/failure-events.js';
import { TracesModule } from '../../traces/traces.module.js';
import { analysedSpans } from './analysed-spans.js';
import { analyzeWithLlm } from './analyze-with-llm.tool.js';
import { SemanticMarks } from './semantic-marks.js';
import { SpanAnalyst } from './span-analyst.js';

/** `analyze_with_llm`: a language model judges spans. What it finds, and what spans say themselves, marks executions. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([]), LlmModule, ToolsModule, ToolMetricsModule, TracesModule],
  providers: [SemanticMarks],
})
export class AnalysisModule {
  constructor(
    registry: ToolRegistry,
    marks: SemanticMarks,
    failures: FailureEvents,
    { endpoint }: Llm,
    @InjectDataSource() db: DataSource,
  ) {
    registry.register(
      analyzeWithLlm({
        analyst: endpoint && new SpanAnalyst(endpoint),
        spans: (project, ids) => analysedSpans(db, project, ids),
        found: (analysis, spans) => marks.judge(analysis, spans),
      }),
    );
    failures.subscribe((told) => marks.tell(told));
  }
}
