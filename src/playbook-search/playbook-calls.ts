import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { canonicalJson, sha256 } from '../common/canonical-json.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Tracer } from '../observability/tracing/tracer.js';
import {
  type CachedCall,
  type CallEvent,
  CallEvents,
  type ExecutedCall,
  type RefusedCall,
} from '../tool-contract/call-events.js';
import { PlaybookUsage } from './playbook-usage.js';
import { PlaybookMetrics } from './playbook.metrics.js';
import { withoutContext } from './playbook-source.js';

const bytesOf = (result: unknown): number => Buffer.byteLength(JSON.stringify(result) ?? '');

const playbookTools = ['get_playbooks', 'get_context'];

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

/** Counts and logs the calls of playbook tools. */
@Injectable()
export class PlaybookCalls implements OnModuleInit {
  readonly usage: PlaybookUsage;

  constructor(
    private readonly calls: CallEvents,
    private readonly metrics: PlaybookMetrics,
    private readonly logger: PinoLogger,
    private readonly tracer: Tracer,
    @Inject(APP_CONFIG) { investigations }: Pick<AppConfig, 'investigations'>,
  ) {
    this.usage = new PlaybookUsage(investigations.maxTracked);
  }

  onModuleInit(): void {
    this.metrics.observe(() => this.usage.sample());
    for (const tool of playbookTools) this.calls.subscribeTo(tool, (event) => this.ended(event));
    // How many of the investigations ask for playbooks is known only if all of them are.
    this.calls.subscribe((event) => {
      const { investigationId } = event.context;
      if (investigationId === undefined || event.kind === 'refused') return;
      if (event.kind === 'cached' || !event.test)
        this.usage.called(investigationId, playbookTools.includes(event.tool));
    });
  }

  private ended(event: CallEvent): void {
    switch (event.kind) {
      case 'executed':
        return event.test ? undefined : this.executed(event);
      case 'cached':
        return this.reused(event);
      case 'refused':
        return this.refused(event);
    }
  }

  private executed(end: ExecutedCall): void {
    const { status, executionTimeMs, errorType } = end;
    this.usage.asked();
    this.metrics.ended(status, executionTimeMs / 1_000, errorType);
    if (!this.tells(false)) return;
    this.write({
      ...this.entryOf(end, end.executionId),
      result_size: end.outputSize ?? 0,
      duration_seconds: executionTimeMs / 1_000,
      status,
      ...(errorType !== undefined && { error_type: errorType }),
      cached: false,
    });
  }

  private refused(call: RefusedCall): void {
    const { code } = call.refusal;
    this.metrics.refused(code);
    if (!this.tells(false)) return;
    this.write({
      ...this.entryOf(call),
      result_size: bytesOf(withoutContext(call.refusal.detail)),
      duration_seconds: 0,
      status: 'refused',
      error_type: code,
      cached: false,
    });
  }

  private reused(call: CachedCall): void {
    const { executionId, result, status } = call.outcome;
    this.usage.asked();
    this.metrics.reused();
    this.usage.hit();
    if (!this.tells(true)) return;
    this.write({
      ...this.entryOf(call, executionId),
      result_size: bytesOf(result),
      duration_seconds: 0,
      status,
      cached: true,
    });
  }

  private entryOf({ tool, input, context: { investigationId } }: CallEvent, executionId?: string) {
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
