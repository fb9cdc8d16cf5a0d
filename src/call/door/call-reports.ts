import { counter, forgetTool, gauge, histogram } from '../../base/observability/metrics.js';
import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Refusal } from '../../base/common/errors.js';
import { ToolLog } from '../../base/observability/tool-log.js';
import { type SpanAttributes, Tracer } from '../../base/observability/tracing/tracer.js';
import { findingsName } from '../../records/executions/tool-metrics.repository.js';
import { CallEvents, type ExecutedCall } from '../../web/contract/call-events.js';
import type { CachedAnswer } from '../../web/contract/call-ticket.js';
import type { Tool } from '../../web/contract/tool.js';
import type { CallAnswer, CallRequest, ToolCall } from '../../web/contract/tool-call.js';
import type { OutcomeStatus, ToolOutcome } from '../../web/contract/tool-outcome.js';

const callsMetric = 'toolkeeper_calls_total';
const durationsMetric = 'toolkeeper_call_duration_seconds';
const inFlightMetric = 'toolkeeper_calls_in_flight';
const refusalsMetric = 'toolkeeper_refusals_total';
const replaysMetric = 'toolkeeper_idempotent_replays_total';
const cachedAnswersMetric = 'toolkeeper_cached_answers_total';

type CounterSeries = ReturnType<Counter['labels']>;

/** Metric series of one tool, which each execution changes. */
interface ToolSeries {
  readonly inFlight: ReturnType<Gauge['labels']>;
  readonly calls: Readonly<Record<OutcomeStatus, CounterSeries>>;
  readonly durations: ReturnType<Histogram['labels']>;
  /** Successful calls of agents since the start. */
  uses: number;
}

export const callMetrics = [
  counter(callsMetric, 'Executions by outcome', 'tool', 'status'),
  histogram(
    durationsMetric,
    'Duration of executions, queue wait and process start included',
    // Seconds, from a warm process's answer to the longest usual timeout.
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    'tool',
  ),
  gauge(inFlightMetric, 'Executions that run or wait for a process', 'tool'),
  counter(refusalsMetric, 'Calls that were not run, by reason', 'tool', 'reason'),
  counter(
    replaysMetric,
    'Calls that were answered with the outcome of an earlier one with the same idempotency key',
    'tool',
  ),
  counter(
    cachedAnswersMetric,
    'Calls that were answered with a cached result (kept) or with that of an equal call under way (shared)',
    'tool',
    'kind',
  ),
];

/**
 * Reports of calls: spans, counters and log lines. The values of the label `tool` are bounded by the registered tools
 * and `unknown`: callers must not invent label values.
 */
@Injectable()
export class CallReports {
  /** Whether traces are on. If not, no work is wrapped in a span. */
  readonly traced: boolean;
  private readonly byTool = new Map<string, ToolSeries>();

  constructor(
    @InjectMetric(callsMetric) private readonly calls: Counter,
    @InjectMetric(durationsMetric) private readonly durations: Histogram,
    @InjectMetric(inFlightMetric) private readonly inFlight: Gauge,
    @InjectMetric(refusalsMetric) private readonly refusals: Counter,
    @InjectMetric(replaysMetric) private readonly replays: Counter,
    @InjectMetric(cachedAnswersMetric) private readonly cachedAnswers: Counter,
    @InjectMetric(findingsName) private readonly findings: Counter,
    private readonly log: ToolLog,
    private readonly tracer: Tracer,
    private readonly events: CallEvents,
  ) {
    this.traced = tracer.on;
    events.subscribe('executed', this.onExecuted);
    events.subscribe('cached', ({ tool, how }) => this.cachedAnswers.inc({ tool, kind: how }));
    events.subscribe('refused', ({ tool, refusal }) => this.refusals.inc({ tool, reason: refusal.code }));
  }

  /** Runs a call in a span, which is named by OpenTelemetry's conventions for generative AI. */
  spanOfCall(request: CallRequest, work: () => Promise<CallAnswer>): Promise<CallAnswer> {
    const { tool, context } = request;
    return this.tracer.span(
      `execute_tool ${tool}`,
      attributesOf(request),
      async (span) => {
        const answer = await work();
        const { outcome, replayed } = answer;
        span.set({
          'toolkeeper.execution_id': outcome.executionId,
          'toolkeeper.status': outcome.status,
          'toolkeeper.cached': outcome.cached,
          ...(replayed && { 'toolkeeper.replayed': true }),
        });
        if (outcome.status !== 'success') span.fail(outcome.error.type);
        return answer;
      },
      { kind: 'server', traceparent: context.traceparent },
    );
  }

  /** Runs the tool's own work in a span. */
  spanOfExecution(work: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    return this.tracer.span('execution', {}, async (span) => {
      const outcome = await work();
      span.set({ 'toolkeeper.attempts': outcome.attempts });
      if (outcome.status !== 'success') span.fail(outcome.error.type);
      return outcome;
    });
  }

  /** Reports the start of an execution. MUST be followed by `executionEnded`. */
  executionStarted({ ticket, context: { requestId } }: ToolCall): void {
    const tool = ticket.tool.definition.name;
    this.seriesOf(tool).inFlight.inc();
    if (this.log.isVerbose) this.log.write({ tool, event: 'execute', requestId });
  }

  executionEnded({ ticket, context: { requestId } }: ToolCall): void {
    const tool = ticket.tool.definition.name;
    this.seriesOf(tool).inFlight.dec();
    if (this.log.isVerbose)
      this.log.write({ tool, event: 'response', requestId, durationMs: ticket.elapsedMs() });
  }

  /** Reports an answer with the outcome of an earlier call with the same idempotency key. */
  replayed(tool: string): void {
    this.replays.inc({ tool });
  }

  /** Reports a refused call. @param tool undefined if no tool has the name, or if the caller may not know about it */
  refused(tool: Tool | undefined, { input, context, kind }: CallRequest, refusal: Refusal): void {
    const { code: reason } = refusal;
    // Events are for tools that callers can name, not for the hidden ones of MCP servers.
    if (!tool || kind) return this.refusals.inc({ tool: tool?.definition.name ?? 'unknown', reason });
    this.events.emit({ kind: 'refused', tool: tool.definition.name, input, context, refusal });
  }

  /** Reports a call that was answered without an execution. */
  cached({ ticket, input, context }: ToolCall, kept: CachedAnswer): void {
    this.events.emit({ kind: 'cached', tool: ticket.tool.definition.name, input, context, ...kept });
  }

  /** Number of successful calls of a tool at this replica since its start, without test calls. */
  usesOf(tool: string): number {
    return this.byTool.get(tool)?.uses ?? 0;
  }

  /** Removes the series of a deleted tool. */
  forget(tool: string): Promise<void> {
    const { calls, durations, inFlight, refusals, replays, cachedAnswers, findings } = this;
    this.byTool.delete(tool);
    return forgetTool(tool, [calls, durations, inFlight, refusals, replays, cachedAnswers, findings]);
  }

  private readonly onExecuted = (event: ExecutedCall): void => {
    const { tool, status, test, executionTimeMs, fault, errorType, errorCode, context } = event;
    const series = this.seriesOf(tool);
    series.calls[status].inc();
    series.durations.observe(executionTimeMs / 1_000);
    if (status === 'success' && !test) series.uses += 1;
    // The message is the tool's own text and may repeat its input: it is recorded, not logged.
    const error = `${errorType} (${errorCode})`;
    if (fault) this.log.write({ tool, event: 'error', requestId: context.requestId, error });
  };

  /** The series of a tool, made at its first execution. */
  private seriesOf(tool: string): ToolSeries {
    const known = this.byTool.get(tool);
    if (known) return known;
    const callsWith = (status: OutcomeStatus): CounterSeries => this.calls.labels({ tool, status });
    const series = {
      inFlight: this.inFlight.labels({ tool }),
      calls: { success: callsWith('success'), error: callsWith('error'), timeout: callsWith('timeout') },
      durations: this.durations.labels({ tool }),
      uses: 0,
    };
    this.byTool.set(tool, series);
    return series;
  }
}

function attributesOf({ tool, context }: CallRequest): SpanAttributes {
  const { requestId, investigationId, runId } = context;
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'toolkeeper.request_id': requestId,
    ...(investigationId !== undefined && { 'toolkeeper.investigation_id': investigationId }),
    ...(runId !== undefined && { 'toolkeeper.run_id': runId }),
  };
}
