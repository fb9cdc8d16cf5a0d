import { Injectable } from '@nestjs/common';
import {
  InjectMetric,
  makeCounterProvider,
  makeGaugeProvider,
  makeHistogramProvider,
} from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge, Histogram } from 'prom-client';
import { Contributors } from '../observability/contributors.js';
import type { PlaybookUsageSample } from './playbook-usage.js';

const calls = 'holmesgpt_playbook_tool_call_total';
const errors = 'holmesgpt_playbook_tool_call_errors_total';
const durations = 'holmesgpt_playbook_tool_call_duration_seconds';
const callRate = 'holmesgpt_playbook_tool_call_rate';
const cacheHitRate = 'holmesgpt_playbook_tool_call_cache_hit_rate';

/** The calls of playbook tools, by the names that HolmesGPT's dashboards know. */
@Injectable()
export class PlaybookMetrics {
  constructor(
    @InjectMetric(calls) private readonly calls: Counter,
    @InjectMetric(errors) private readonly errors: Counter,
    @InjectMetric(durations) private readonly durations: Histogram,
    @InjectMetric(callRate) private readonly callRate: Gauge,
    @InjectMetric(cacheHitRate) private readonly cacheHitRate: Gauge,
    private readonly contributors: Contributors,
  ) {
    for (const status of ['success', 'error', 'timeout', 'refused']) calls.inc({ status }, 0);
  }

  /** @param errorType of few values; absent: it succeeded */
  ended(status: 'success' | 'error' | 'timeout', seconds: number, errorType?: string): void {
    this.calls.inc({ status });
    this.durations.observe(seconds);
    if (errorType !== undefined) this.errors.inc({ type: errorType });
  }

  /** A call was answered from memory. */
  reused(): void {
    this.calls.inc({ status: 'success' });
  }

  /** A call was not run. */
  refused(reason: string): void {
    this.calls.inc({ status: 'refused' });
    this.errors.inc({ type: reason });
  }

  observe(source: () => PlaybookUsageSample): void {
    this.contributors.addSampler(() => {
      const sample = source();
      this.callRate.set(sample.callRate);
      this.cacheHitRate.set(sample.cacheHitRate);
    });
  }
}

export const playbookMetrics = [
  PlaybookMetrics,
  makeCounterProvider({
    name: calls,
    help: 'Calls of playbook tools by how they ended; refused: they were not run',
    labelNames: ['status'],
  }),
  makeCounterProvider({
    name: errors,
    help: 'Calls of playbook tools that failed or were refused, by the reason',
    labelNames: ['type'],
  }),
  makeHistogramProvider({
    name: durations,
    help: 'Duration of executions of playbook tools; what is answered from memory is not among them',
    // From a cached answer to the deadline of a Data Storage service, in seconds.
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
  }),
  makeGaugeProvider({
    name: callRate,
    help: 'Share (0 to 1) of the investigations of the last hour that called a playbook tool',
  }),
  makeGaugeProvider({
    name: cacheHitRate,
    help: 'Share (0 to 1) of the calls of playbook tools in the last hour that were answered from memory',
  }),
];
