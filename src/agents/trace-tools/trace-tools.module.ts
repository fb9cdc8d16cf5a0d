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
import { analyzeWithLlm } from './analysis/analyze-with-llm.tool.js';
import { SemanticMarks, markSemanticFailure } from './analysis/semantic-marks.js';
import { SpanAnalyst } from './analysis/span-analyst.js';
import { findExecutions, getExecution } from './execution-tools.js';
import { getToolHealth } from './health-tool.js';
import { listTools } from './list-tools.js';
import { fetchSpansSummary, getSpanContent, isValidForOptimize } from './span-tools.js';

/** Tools for agents to read spans, executions and health, and to analyse spans. Findings of an analysis and failures reported by spans mark executions. */
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
    metrics: ToolMetricsService,
    { endpoint }: Llm,
    rows: ToolMetricsRepository,
    recorder: ExecutionRecorder,
    health: ToolHealthService,
    circuits: CircuitsService,
    audit: AuditLog,
    @Inject(APP_CONFIG) { server }: Pick<AppConfig, 'server'>,
  ) {
    const executions = [findExecutions(rows), getExecution(rows, `${server.publicUrl ?? ''}/console`)];
    for (const tool of [...executions, getToolHealth(health, circuits)])
      // Earlier calls are found.
      registry.register({ ...tool, run: (...call) => recorder.catchUp().then(() => tool.run(...call)) });
    for (const tool of [...listTools, getSpanContent, isValidForOptimize]) registry.register(tool(reads));
    registry.register(fetchSpansSummary(reads, () => ingest.state().depth));
    registry.register(markSemanticFailure(metrics, audit));
    const analyst = endpoint && new SpanAnalyst(endpoint);
    registry.register(
      analyzeWithLlm({ analyst, reads, found: (analysis, spans) => marks.judge(analysis, spans) }),
    );
    ingest.batches.subscribe(({ failures }) => marks.add(failures));
  }
}
