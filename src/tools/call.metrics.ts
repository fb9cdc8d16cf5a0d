import { Injectable } from '@nestjs/common';
import {
  InjectMetric,
  makeCounterProvider,
  makeGaugeProvider,
  makeHistogramProvider,
} from '@willsoto/nestjs-prometheus';
import { Counter, Gauge, Histogram } from 'prom-client';
import { forgetTool } from '../observability/contributors.js';
import type { CachedAnswer } from '../tool-contract/call-ticket.js';
import type { OutcomeStatus } from '../tool-contract/tool-outcome.js';

const calls = 'toolkeeper_calls_total';
const durations = 'toolkeeper_call_duration_seconds';
const inFlight = 'toolkeeper_calls_in_flight';
const refusals = 'toolkeeper_refusals_total';
const replays = 'toolkeeper_idempotent_replays_total';
const cachedAnswers = 'toolkeeper_cached_answers_total';

type Child = ReturnType<Counter['labels']>;

/** The series of one tool that each of its executions changes. */
interface ToolSeries {
  readonly inFlight: ReturnType<Gauge['labels']>;
  readonly calls: Readonly<Record<OutcomeStatus, Child>>;
  readonly durations: ReturnType<Histogram['labels']>;
}

/** The door's counters. The values of the label `tool` are bounded by the registered tools and `unknown`. */
@Injectable()
export class CallMetrics {
  private readonly byTool = new Map<string, ToolSeries>();

  constructor(
    @InjectMetric(calls) private readonly calls: Counter,
    @InjectMetric(durations) private readonly durations: Histogram,
    @InjectMetric(inFlight) private readonly inFlight: Gauge,
    @InjectMetric(refusals) private readonly refusals: Counter,
    @InjectMetric(replays) private readonly replays: Counter,
    @InjectMetric(cachedAnswers) private readonly cachedAnswers: Counter,
  ) {}

  started(tool: string): void {
    this.seriesOf(tool).inFlight.inc();
  }

  /** Ends what `started` began. */
  ended(tool: string): void {
    this.seriesOf(tool).inFlight.dec();
  }

  executed(tool: string, status: OutcomeStatus, durationMs: number): void {
    const { calls, durations } = this.seriesOf(tool);
    calls[status].inc();
    durations.observe(durationMs / 1_000);
  }

  /** `tool` is undefined where no tool has the name that was asked for: callers must not invent label values. */
  refused(tool: string | undefined, reason: string): void {
    this.refusals.inc({ tool: tool ?? 'unknown', reason });
  }

  reused(tool: string, kind: CachedAnswer['how']): void {
    this.cachedAnswers.inc({ tool, kind });
  }

  replayed(tool: string): void {
    this.replays.inc({ tool });
  }

  /** Removes the series of a deleted tool. */
  forget(tool: string): Promise<void> {
    const { calls, durations, inFlight, refusals, replays, cachedAnswers } = this;
    this.byTool.delete(tool);
    return forgetTool(tool, [calls, durations, inFlight, refusals, replays, cachedAnswers]);
  }

  private seriesOf(tool: string): ToolSeries {
    const known = this.byTool.get(tool);
    if (known) return known;
    const calls = (status: OutcomeStatus): Child => this.calls.labels({ tool, status });
    const series = {
      inFlight: this.inFlight.labels({ tool }),
      calls: { success: calls('success'), error: calls('error'), timeout: calls('timeout') },
      durations: this.durations.labels({ tool }),
    };
    this.byTool.set(tool, series);
    return series;
  }
}

export const callMetrics = [
  CallMetrics,
  makeCounterProvider({ name: calls, help: 'Executions by outcome', labelNames: ['tool', 'status'] }),
  makeHistogramProvider({
    name: durations,
    help: 'Duration of executions, queue wait and process start included',
    labelNames: ['tool'],
    // From a warm process's answer to the longest time-out that is usual, in seconds.
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  }),
  makeGaugeProvider({
    name: inFlight,
    help: 'Executions that run or wait for a process',
    labelNames: ['tool'],
  }),
  makeCounterProvider({
    name: refusals,
    help: 'Calls that were not run, by reason',
    labelNames: ['tool', 'reason'],
  }),
  makeCounterProvider({
    name: replays,
    help: 'Calls that were answered with the outcome of an earlier one with the same idempotency key',
    labelNames: ['tool'],
  }),
  makeCounterProvider({
    name: cachedAnswers,
    help: 'Calls that were answered with a cached result (kept) or with that of an equal call under way (shared)',
    labelNames: ['tool', 'kind'],
  }),
];
