import { Module } from '@nestjs/common';
import { Llm, LlmModule } from '../llm/llm.module.js';
import { ToolMetricsModule } from '../../records/executions/tool-metrics.module.js';
import { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { SpanIngest } from '../../records/spans/ingest/span-ingest.js';
import { TraceReads } from '../../records/spans/reads/trace-reads.js';
import { TracesModule } from '../../records/spans/traces.module.js';
import { analyzeWithLlm } from './analysis/analyze-with-llm.tool.js';
import { SemanticMarks, markSemanticFailure } from './analysis/semantic-marks.js';
import { SpanAnalyst } from './analysis/span-analyst.js';
import { listTools } from './list-tools.js';
import { fetchSpansSummary, getSpanContent, isValidForOptimize } from './span-tools.js';

/** Tools for agents to read and analyse spans. Findings of an analysis and failures reported by spans mark executions. */
@Module({
  imports: [LlmModule, ToolsModule, ToolMetricsModule, TracesModule],
  providers: [SemanticMarks],
})
export class TraceToolsModule {
  constructor(
    registry: ToolRegistry,
    reads: TraceReads,
    ingest: SpanIngest,
    marks: SemanticMarks,
    metrics: ToolMetricsService,
    { endpoint }: Llm,
  ) {
    for (const tool of [...listTools, getSpanContent, isValidForOptimize]) registry.register(tool(reads));
    registry.register(fetchSpansSummary(reads, () => ingest.state().depth));
    registry.register(markSemanticFailure(metrics));
    const analyst = endpoint && new SpanAnalyst(endpoint);
    registry.register(
      analyzeWithLlm({ analyst, reads, found: (analysis, spans) => marks.judge(analysis, spans) }),
    );
    ingest.batches.subscribe(({ failures }) => marks.add(failures));
  }
}
