import { counter, gauge, histogram } from '../../base/observability/metrics.js';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { PinoLogger } from 'nestjs-pino';
import type { Counter, Gauge, Histogram } from 'prom-client';
import { SampleRing } from '../../base/outbound/breaker/sample-ring.js';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { type Clock, systemClock } from '../../base/common/clock.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Contributors } from '../../base/observability/contributors.js';
import { Tracer } from '../../base/observability/tracing/tracer.js';
import {
  type CachedCall,
  type CallEvent,
  CallEvents,
  type ExecutedCall,
} from '../../web/contract/call-events.js';
import { withoutContext } from './playbook-source.js';

/** Metric names of HolmesGPT's dashboards. */
const callsMetric = 'holmesgpt_playbook_tool_call_total';
const errorsMetric = 'holmesgpt_playbook_tool_call_errors_total';
const durationsMetric = 'holmesgpt_playbook_tool_call_duration_seconds';
const callRateMetric = 'holmesgpt_playbook_tool_call_rate';
const cacheHitRateMetric = 'holmesgpt_playbook_tool_call_cache_hit_rate';

/** The tools that are counted. */
const playbookTools = ['get_playbooks', 'get_context'];

/** Values of the label `status`. */
const statuses = ['success', 'error', 'timeout', 'refused'] as const;

/** The end of a call in its log line (docs/operate/observability.md). */
interface CallEnd {
  readonly executionId?: string;
  readonly result_size: number;
  readonly duration_seconds?: number;
  readonly status: (typeof statuses)[number];
  readonly error_type?: string;
}

/** Counts and logs the calls of playbook tools. */
@Injectable()
export class PlaybookCalls implements OnModuleInit {
  /** Statistics of the last hour. */
  readonly usage: PlaybookUsage;

  constructor(
    private readonly calls: CallEvents,
    private readonly logger: PinoLogger,
    private readonly tracer: Tracer,
    private readonly contributors: Contributors,
    @Inject(APP_CONFIG) { investigations }: Pick<AppConfig, 'investigations'>,
    @InjectMetric(callsMetric) private readonly total: Counter,
    @InjectMetric(errorsMetric) private readonly errors: Counter,
    @InjectMetric(durationsMetric) private readonly durations: Histogram,
    @InjectMetric(callRateMetric) private readonly callRate: Gauge,
    @InjectMetric(cacheHitRateMetric) private readonly cacheHitRate: Gauge,
  ) {
    // From the start, so that dashboards show 0 instead of nothing.
    for (const status of statuses) total.inc({ status }, 0);
    this.usage = new PlaybookUsage(investigations.maxTracked);
  }

  onModuleInit(): void {
    this.contributors.addSampler(() => {
      const sample = this.usage.sample();
      this.callRate.set(sample.callRate);
      this.cacheHitRate.set(sample.cacheHitRate);
    });
    for (const tool of playbookTools) this.calls.subscribeTo(tool, (event) => this.onPlaybookCall(event));
    // Calls of all tools, because `callRate` is a share of all investigations.
    this.calls.subscribe('cached', this.onAnyCall);
    this.calls.subscribe('executed', this.onAnyCall);
  }

  /** Notes the investigation of a call. */
  private readonly onAnyCall = (event: CachedCall | ExecutedCall): void => {
    const { investigationId } = event.context;
    const isTest = event.kind === 'executed' && event.test;
    if (investigationId !== undefined && !isTest)
      this.usage.addInvestigation(investigationId, playbookTools.includes(event.tool));
  };

  private onPlaybookCall(event: CallEvent): void {
    if (event.kind === 'refused') {
      const { code: error_type, detail } = event.refusal;
      this.total.inc({ status: 'refused' });
      this.errors.inc({ type: error_type });
      this.log(event, () => ({
        result_size: bytesOf(withoutContext(detail)),
        status: 'refused',
        error_type,
      }));
    } else if (event.kind === 'cached') {
      const { executionId, result, status } = event.outcome;
      this.usage.addCall();
      this.usage.addHit();
      this.total.inc({ status: 'success' });
      this.log(event, () => ({ executionId, result_size: bytesOf(result), status }));
    } else if (!event.test) {
      const { status, executionTimeMs, errorType, executionId, outputSize: result_size = 0 } = event;
      const duration_seconds = executionTimeMs / 1_000;
      this.usage.addCall();
      this.total.inc({ status });
      this.durations.observe(duration_seconds);
      if (errorType !== undefined) this.errors.inc({ type: errorType });
      const error = errorType !== undefined && { error_type: errorType };
      this.log(event, () => ({ executionId, result_size, duration_seconds, status, ...error }));
    }
  }

  /**
   * Logs sizes and hashes, never contents, with the field names of HolmesGPT. Cached answers are frequent and cost
   * microseconds, so they are logged at `debug` only.
   */
  private log(event: CallEvent, end: () => CallEnd): void {
    const cached = event.kind === 'cached';
    if (!this.logger.logger.isLevelEnabled(cached ? 'debug' : 'info')) return;
    const { executionId, ...rest } = end();
    const { investigationId } = event.context;
    const traceId = this.tracer.traceparent(undefined)?.split('-')[1];
    const entry = {
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
    const executedLevel = entry.status === 'success' ? 'info' : 'warn';
    this.logger[cached ? 'debug' : executedLevel](entry, 'playbook tool call');
  }
}

/** Size of a result as JSON. */
const bytesOf = (result: unknown): number => Buffer.byteLength(JSON.stringify(result) ?? '');

/** The time that statistics cover. */
const windowMs = 3_600_000;

/** Shares of the last hour, 0 to 1; 0 if nothing was seen. */
interface PlaybookUsageSample {
  /** Share of the investigations with a call of any tool that called a playbook tool. */
  readonly callRate: number;
  /** Share of the calls of playbook tools that were answered from the cache. */
  readonly cacheHitRate: number;
}

/** The last calls of an investigation. */
interface Investigation {
  /** Time of its last call of any tool, in milliseconds since the epoch. */
  calledAt: number;
  /** Time of its last call of a playbook tool. */
  playbookCallAt: number;
}

/** Statistics of playbook tools in the last hour. */
export class PlaybookUsage {
  private readonly investigations = new Map<string, Investigation>();
  /** Samples whose number alone counts: none is a fault. */
  private readonly calls = new SampleRing(windowMs);
  private readonly hits = new SampleRing(windowMs);

  constructor(
    /** Max remembered investigations. Beyond it, the one that began first is forgotten. */
    private readonly maxTracked: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Notes a call by an investigation. @param isPlaybookCall whether the tool was a playbook tool */
  addInvestigation(investigationId: string, isPlaybookCall: boolean): void {
    const now = this.clock.now();
    const known = this.investigations.get(investigationId);
    if (known) {
      known.calledAt = now;
      if (isPlaybookCall) known.playbookCallAt = now;
      return;
    }
    const [first] = this.investigations.keys();
    if (first !== undefined && this.investigations.size >= this.maxTracked) this.investigations.delete(first);
    const playbookCallAt = isPlaybookCall ? now : -Infinity;
    this.investigations.set(investigationId, { calledAt: now, playbookCallAt });
  }

  addCall(): void {
    this.calls.add(this.clock.now(), false);
  }

  /** Counts a call that was answered from the cache. */
  addHit(): void {
    this.hits.add(this.clock.now(), false);
  }

  /** The statistics of the last hour. Forgets investigations without a call in it. */
  sample(): PlaybookUsageSample {
    const now = this.clock.now();
    const since = now - windowMs;
    let withPlaybookCall = 0;
    for (const [id, { calledAt, playbookCallAt }] of this.investigations) {
      if (calledAt < since) this.investigations.delete(id);
      else if (playbookCallAt >= since) withPlaybookCall++;
    }
    return {
      callRate: share(withPlaybookCall, this.investigations.size),
      cacheHitRate: share(this.hits.totals(now).calls, this.calls.totals(now).calls),
    };
  }
}

/** A share, at most 1: a call may have left the window before its hit has. */
const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(1, part / whole));

export const playbookMetrics = [
  counter(callsMetric, 'Calls of playbook tools by status; refused: they were not run', 'status'),
  counter(errorsMetric, 'Calls of playbook tools that failed or were refused, by error type', 'type'),
  histogram(
    durationsMetric,
    'Duration of executions of playbook tools, without answers from the cache',
    // Seconds, from a fast search to the deadline of a Data Storage service.
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
  ),
  gauge(callRateMetric, 'Share (0 to 1) of the investigations of the last hour that called a playbook tool'),
  gauge(
    cacheHitRateMetric,
    'Share (0 to 1) of the calls of playbook tools in the last hour that were answered from the cache',
  ),
];
