import { Module } from '@nestjs/common';
import { ToolRegistry } from '../tools/tool-registry.js';
import { ToolsModule } from '../tools/tools.module.js';
import { SpanIngest } from '../traces/ingest/span-ingest.js';
import { TraceReads } from '../traces/reads/trace-reads.js';
import { TracesModule } from '../traces/traces.module.js';
import { fetchSpansSummary, getSpanContent } from './analysis-tools.js';
import { fetchGroups, fetchRuns, fetchSpans, getRunDetails, listLabels } from './list-tools.js';
import { isValidForOptimize } from './is-valid-for-optimize.tool.js';

/** The tools by which agents read spans. */
@Module({ imports: [ToolsModule, TracesModule] })
export class TraceToolsModule {
  constructor(registry: ToolRegistry, reads: TraceReads, ingest: SpanIngest) {
    for (const tool of [fetchRuns, fetchSpans, getRunDetails, fetchGroups, getSpanContent, listLabels])
      registry.register(tool(reads));
    registry.register(isValidForOptimize(reads));
    registry.register(fetchSpansSummary(reads, () => ingest.state().depth));
  }
}
