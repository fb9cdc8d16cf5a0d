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

type CallEnd = Pick<PlaybookToolCall, 'result_size' | 'status' | 'error_type'> &
  Partial<Pick<PlaybookToolCall, 'duration_seconds'>> & { readonly executionId?: string };

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
    if (event.kind === 'refused') return this.refused(event);
    if (event.kind === 'cached') return this.reused(event);
    if (!event.test) this.executed(event);
  }

  private executed(end: ExecutedCall): void {
    const { status, executionTimeMs, errorType, executionId, outputSize: result_size = 0 } = end;
    const duration_seconds = executionTimeMs / 1_000;
    this.usage.asked();
    this.metrics.ended(status, duration_seconds, errorType);
    const error = errorType !== undefined && { error_type: errorType };
    this.log(end, () => ({ executionId, result_size, duration_seconds, status, ...error }));
  }

  private refused(call: RefusedCall): void {
    const { code: error_type, detail } = call.refusal;
    this.metrics.refused(error_type);
    this.log(call, () => ({ result_size: bytesOf(withoutContext(detail)), status: 'refused', error_type }));
  }

  private reused(call: CachedCall): void {
    const { executionId, result, status } = call.outcome;
    this.usage.asked();
    this.metrics.reused();
    this.usage.hit();
    this.log(call, () => ({ executionId, result_size: bytesOf(result), status }));
  }

  /** Answers from memory are frequent and cost microseconds, so they are logged on `debug` alone. */
  private log(event: CallEvent, end: () => CallEnd): void {
    const cached = event.kind === 'cached';
    if (!this.logger.logger.isLevelEnabled(cached ? 'debug' : 'info')) return;
    const { executionId, ...rest } = end();
    const { investigationId } = event.context;
    const traceId = this.tracer.traceparent(undefined)?.split('-')[1];
    const entry: PlaybookToolCall = {
      event: 'playbook_tool_call',
      tool: event.tool,
      ...(investigationId !== undefined && { investigation_id: investigationId }),
      ...(executionId !== undefined && { execution_id: executionId }),
      parameters_hash: sha256(canonicalJson(event.input)),
      ...(traceId !== undefined && { trace_id: traceId }),
      duration_seconds: 0,
      ...rest,
      cached,
    };
    const level = cached ? 'debug' : entry.status === 'success' ? 'info' : 'warn';
    this.logger[level](entry, 'playbook tool call');
  }
}
