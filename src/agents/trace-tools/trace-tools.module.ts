import { Inject, Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { CircuitsService } from '../../call/circuits/circuits.service.js';
import { ToolHealthModule } from '../../insight/tool-health/tool-health.module.js';
import { ToolHealthService } from '../../insight/tool-health/tool-health.service.js';
import { ExecutionRecorder } from '../../records/executions/execution-recorder.js';
import { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';
import { AuditLog } from '../../web/auth/audit/audit-log.js';
import { Llm, LlmModule } from '../llm/llm.module.js';
import { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { SpanIngest } from '../../records/spans/ingest/span-ingest.js';
import { TraceReads } from '../../records/spans/reads/trace-reads.js';
import { TracesModule } from '../../records/spans/traces.module.js';
import { analyzeWithLlmTool } from './analysis/analyze-with-llm.tool.js';
import { SemanticMarks } from './analysis/semantic-marks.js';
import { SpanAnalyst } from './analysis/span-analyst.js';
import { findExecutionsTool, getExecutionTool, markSemanticFailureTool } from './execution-tools.js';
import { getToolHealthTool } from './health-tool.js';
import { traceListTools } from './list-tools.js';
import { fetchSpansSummaryTool, getSpanContentTool, isValidForOptimizeTool } from './span-tools.js';

/**
 * Tools for agents to read spans, executions and health, and to analyse spans. Issues found by an analysis, and failures
 * that spans report, mark executions.
 */
@Module({
  imports: [LlmModule, ToolsModule, ToolHealthModule, TracesModule],
  providers: [SemanticMarks],
})
export class TraceToolsModule {
  constructor(
    registry: ToolRegistry,
    reads: TraceReads,
    ingest: SpanIngest,
    marks: SemanticMarks,
    metricsService: ToolMetricsService,
    { endpoint }: Llm,
    metricsRepository: ToolMetricsRepository,
    recorder: ExecutionRecorder,
    health: ToolHealthService,
    circuits: CircuitsService,
    audit: AuditLog,
    @Inject(APP_CONFIG) { server }: Pick<AppConfig, 'server'>,
  ) {
    const consoleUrl = `${server.publicUrl ?? ''}/console`;
    const executionTools = [
      findExecutionsTool(metricsRepository),
      getExecutionTool(metricsRepository, consoleUrl),
    ];
    for (const tool of [...executionTools, getToolHealthTool(health, circuits)])
      // An agent that asks about its last call finds that call in the database.
      registry.register({ ...tool, run: (...call) => recorder.catchUp().then(() => tool.run(...call)) });
    for (const toolFor of [...traceListTools, getSpanContentTool, isValidForOptimizeTool])
      registry.register(toolFor(reads));
    registry.register(fetchSpansSummaryTool(reads, () => ingest.state().depth));
    registry.register(markSemanticFailureTool(metricsService, audit));
    const analyst = endpoint && new SpanAnalyst(endpoint);
    registry.register(
      analyzeWithLlmTool({
        analyst,
        reads,
        onAnalysed: (analysis, spans) => marks.markAnalysed(analysis, spans),
      }),
    );
    ingest.batches.subscribe(({ failures }) => marks.markReported(failures));
  }
}
