import { Module } from '@nestjs/common';
import { Llm, LlmModule } from '../../llm/llm.module.js';
import { ToolMetricsModule } from '../../tool-metrics/tool-metrics.module.js';
import { ToolRegistry } from '../../tools/tool-registry.js';
import { ToolsModule } from '../../tools/tools.module.js';
import { BatchEvents } from '../../traces/ingest/batch-events.js';
import { TraceReads } from '../../traces/reads/trace-reads.js';
import { TracesModule } from '../../traces/traces.module.js';
import { analyzeWithLlm } from './analyze-with-llm.tool.js';
import { SemanticMarks } from './semantic-marks.js';
import { SpanAnalyst } from './span-analyst.js';

/** `analyze_with_llm`: a language model judges spans. What it finds, and what spans say themselves, marks executions. */
@Module({
  imports: [LlmModule, ToolsModule, ToolMetricsModule, TracesModule],
  providers: [SemanticMarks],
})
export class AnalysisModule {
  constructor(
    registry: ToolRegistry,
    marks: SemanticMarks,
    batches: BatchEvents,
    { endpoint }: Llm,
    reads: TraceReads,
  ) {
    registry.register(
      analyzeWithLlm({
        analyst: endpoint && new SpanAnalyst(endpoint),
        reads,
        found: (analysis, spans) => marks.judge(analysis, spans),
      }),
    );
    batches.subscribe(({ told }) => marks.tell(told));
  }
}
