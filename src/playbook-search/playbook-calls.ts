import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { canonicalJson, sha256 } from '../common/canonical-json.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Tracer } from '../observability/tracing/tracer.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import type { ExecutionEvent } from '../tool-metrics/execution-event.js';
import { ExecutionEvents } from '../tool-metrics/execution-events.js';
import { CallReports, type UnrunCall } from '../tools/call-reports.js';
import { PlaybookLog } from './playbook-log.js';
import { PlaybookUsage } from './playbook-usage.js';
import { PlaybookMetrics } from './playbook.metrics.js';

const playbookTools: ReadonlySet<string> = new Set(['get_playbooks', 'get_context']);

/** Counts and logs the calls of playbook tools, by what others say of them. */
@Injectable()
export class PlaybookCalls implements OnModuleInit {
  readonly usage: PlaybookUsage;

  constructor(
    private readonly executions: ExecutionEvents,
    private readonly reports: CallReports,
    private readonly metrics: PlaybookMetrics,
    private readonly log: PlaybookLog,
    private readonly tracer: Tracer,
    @Inject(APP_CONFIG) { investigations }: Pick<AppConfig, 'investigations'>,
  ) {
    this.usage = new PlaybookUsage(investigations.maxTracked);
  }

  onModuleInit(): void {
    this.metrics.observe(() => this.usage.sample());
    this.executions.subscribe((event) => this.executed(event));
    this.reports.unrun.subscribe((call) => this.notRun(call));
  }

  /** Told of every execution of every tool: whose it is not costs next to nothing. */
  private executed(end: ExecutionEvent): void {
    const { tool, investigationId } = end;
    if (end.test || !this.concerns(tool, investigationId)) return;
    this.metrics.ended(end.status, end.executionTimeMs / 1_000, end.errorType);
    if (!this.log.tells(false)) return;
    this.log.write({
      ...this.entryOf(tool, investigationId, end.executionId, end.input),
      result_size: end.outputSize ?? 0,
      duration_seconds: end.executionTimeMs / 1_000,
      status: end.status,
      ...(end.errorType !== undefined && { error_type: end.errorType }),
      cached: false,
    });
  }

  private notRun({ tool, input, context: { investigationId }, ended }: UnrunCall): void {
    if ('outcome' in ended) return this.reused(tool, investigationId, input, ended.outcome);
    if (!playbookTools.has(tool)) return;
    const { code } = ended.refusal;
    this.metrics.refused(code);
    if (!this.log.tells(false)) return;
    this.log.write({
      ...this.entryOf(tool, investigationId, undefined, input),
      result_size: 0,
      duration_seconds: 0,
      status: 'refused',
      error_type: code,
      cached: false,
    });
  }

  private reused(
    tool: string,
    investigationId: string | undefined,
    input: unknown,
    outcome: ToolOutcome,
  ): void {
    const { executionId } = outcome;
    if (!this.concerns(tool, investigationId)) return;
    this.metrics.reused();
    this.usage.hit();
    if (!this.log.tells(true)) return;
    this.log.write({
      ...this.entryOf(tool, investigationId, executionId, input),
      result_size: Buffer.byteLength(JSON.stringify(outcome.result) ?? ''),
      duration_seconds: 0,
      status: outcome.status,
      cached: true,
    });
  }

  /** @returns whether it is a playbook tool's; of the others only their investigation is of interest */
  private concerns(tool: string, investigationId: string | undefined): boolean {
    const isOurs = playbookTools.has(tool);
    if (investigationId !== undefined) this.usage.called(investigationId, isOurs);
    if (isOurs) this.usage.asked();
    return isOurs;
  }

  private entryOf(
    tool: string,
    investigationId: string | undefined,
    executionId: string | undefined,
    input: unknown,
  ) {
    const traceId = this.tracer.traceparent(undefined)?.split('-')[1];
    return {
      event: 'playbook_tool_call' as const,
      tool,
      ...(investigationId !== undefined && { investigation_id: investigationId }),
      ...(executionId !== undefined && { execution_id: executionId }),
      parameters_hash: sha256(canonicalJson(input)),
      ...(traceId !== undefined && { trace_id: traceId }),
    };
  }
}
