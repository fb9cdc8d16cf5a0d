import { Module } from '@nestjs/common';
import { Llm, LlmModule } from '../llm/llm.module.js';
import { ToolMetricsModule } from '../records/executions/tool-metrics.module.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { ToolsModule } from '../tools/tools.module.js';
import { BatchEvents } from '../records/spans/ingest/batch-events.js';
import { SpanIngest } from '../records/spans/ingest/span-ingest.js';
import { TraceReads } from '../records/spans/reads/trace-reads.js';
import { TracesModule } from '../records/spans/traces.module.js';
import { fetchSpansSummary, getSpanContent } from './analysis-tools.js';
import { analyzeWithLlm } from './analysis/analyze-with-llm.tool.js';
import { SemanticMarks } from './analysis/semantic-marks.js';
import { SpanAnalyst } from './analysis/span-analyst.js';
import { isValidForOptimize } from './is-valid-for-optimize.tool.js';
import { fetchGroups, fetchRuns, fetchSpans, getRunDetails, listLabels } from './list-tools.js';

/** The tools by which agents read and judge spans. What a judgement finds, and what spans say themselves, marks executions. */
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
    batches: BatchEvents,
    { endpoint }: Llm,
  ) {
    for (const tool of [fetchRuns, fetchSpans, getRunDetails, fetchGroups, getSpanContent, listLabels])
      registry.register(tool(reads));
    registry.register(isValidForOptimize(reads));
    registry.register(fetchSpansSummary(reads, () => ingest.state().depth));
    const analyst = endpoint && new SpanAnalyst(endpoint);
    registry.register(
      analyzeWithLlm({ analyst, reads, found: (analysis, spans) => marks.judge(analysis, spans) }),
    );
    batches.subscribe(({ told }) => marks.tell(told));
  }
}
