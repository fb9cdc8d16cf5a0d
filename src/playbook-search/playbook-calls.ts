import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { canonicalJson, sha256 } from '../common/canonical-json.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Tracer } from '../observability/tracing/tracer.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { type ExecutionEvent, ExecutionEvents } from '../tool-metrics/execution-events.js';
import { CallReports, type UnrunCall } from '../tools/call-reports.js';
import { PlaybookUsage } from './playbook-usage.js';
import { PlaybookMetrics } from './playbook.metrics.js';

const playbookTools: ReadonlySet<string> = new Set(['get_playbooks', 'get_context']);

/** One call of a playbook tool: sizes and hashes, never contents. Names are those that HolmesGPT's operators know. */
interface PlaybookToolCall {
  readonly event: 'playbook_tool_call';
  readonly tool: string;
  /** Absent: the call belongs to none. */
  readonly investigation_id?: string;
  /** Absent: nothing was run. */
  readonly execution_id?: string;
  /** SHA-256 of the parameters as canonical JSON. */
  readonly parameters_hash: string;
  /** Bytes. */
  readonly result_size: number;
  readonly duration_seconds: number;
  readonly status: 'success' | 'error' | 'timeout' | 'refused';
  readonly error_type?: string;
  /** Answered from memory. */
  readonly cached: boolean;
  readonly trace_id?: string;
}

/** Counts and logs the calls of playbook tools, by what others say of them. */
@Injectable()
export class PlaybookCalls implements OnModuleInit {
  readonly usage: PlaybookUsage;

  constructor(
    private readonly executions: ExecutionEvents,
    private readonly reports: CallReports,
    private readonly metrics: PlaybookMetrics,
    private readonly logger: PinoLogger,
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
    if (!this.tells(false)) return;
    this.write({
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
    if (!this.tells(false)) return;
    this.write({
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
    if (!this.tells(true)) return;
    this.write({
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

  /** What is answered from memory comes often and costs microseconds: a line for it would cost more. */
  private tells(cached: boolean): boolean {
    return this.logger.logger.isLevelEnabled(cached ? 'debug' : 'info');
  }

  private write(entry: PlaybookToolCall): void {
    const level = entry.cached ? 'debug' : entry.status === 'success' ? 'info' : 'warn';
    this.logger[level](entry, 'playbook tool call');
  }
}
