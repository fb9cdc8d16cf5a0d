import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The tools that these metrics are about (seed 002). */
export const playbookTools: ReadonlySet<string> = new Set(['get_playbooks', 'get_context']);

type EndStatus = 'success' | 'error' | 'timeout';

/** What was seen in the last hour; each 0 to 1, and 0 where nothing was seen. */
export interface PlaybookUsageSample {
  /** Of the investigations that called any tool, those that called a playbook tool. */
  readonly callRate: number;
  /** Of the calls of playbook tools, those that were answered from memory. */
  readonly cacheHitRate: number;
}

/** From a kept answer to the deadline of a Data Storage service, in seconds. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

/** The calls of playbook tools by the names that seed 002 gives them (BR-HAPI-049). */
@Injectable()
export class PlaybookMetrics {
  private readonly ends: Record<EndStatus, number> = { success: 0, error: 0, timeout: 0 };
  private readonly errors = new Map<string, number>();
  private refusals = 0;
  private readonly durations: Histogram;
  private source: () => PlaybookUsageSample = () => ({ callRate: 0, cacheHitRate: 0 });

  constructor(registry: Registry) {
    this.makeCounters([registry]);
    this.makeGauges([registry]);
    this.durations = new Histogram({
      name: 'holmesgpt_playbook_tool_call_duration_seconds',
      help: 'Duration of executions of playbook tools; what is answered from memory is not among them',
      buckets: durationBuckets,
      registers: [registry],
    });
  }

  /** @param errorType of few values; absent: it succeeded */
  ended(status: EndStatus, seconds: number, errorType?: string): void {
    this.ends[status] += 1;
    this.durations.observe(seconds);
    if (errorType !== undefined) this.errors.set(errorType, (this.errors.get(errorType) ?? 0) + 1);
  }

  /** A call was answered from memory. */
  reused(): void {
    this.ends.success += 1;
  }

  /** A call was not run. */
  refused(reason: string): void {
    this.refusals += 1;
    this.errors.set(reason, (this.errors.get(reason) ?? 0) + 1);
  }

  observe(source: () => PlaybookUsageSample): void {
    this.source = source;
  }

  private makeCounters(registers: Registry[]): void {
    const { ends, errors } = this;
    const refusals = (): number => this.refusals;
    new Counter({
      name: 'holmesgpt_playbook_tool_call_total',
      help: 'Calls of playbook tools by how they ended; refused: they were not run',
      labelNames: ['status'],
      registers,
      collect() {
        this.reset();
        for (const [status, count] of Object.entries(ends)) this.inc({ status }, count);
        this.inc({ status: 'refused' }, refusals());
      },
    });
    new Counter({
      name: 'holmesgpt_playbook_tool_call_errors_total',
      help: 'Calls of playbook tools that failed or were refused, by the reason',
      labelNames: ['type'],
      registers,
      collect() {
        this.reset();
        for (const [type, count] of errors) this.inc({ type }, count);
      },
    });
  }

  private makeGauges(registers: Registry[]): void {
    const sample = (): PlaybookUsageSample => this.source();
    new Gauge({
      name: 'holmesgpt_playbook_tool_call_rate',
      help: 'Share (0 to 1) of the investigations of the last hour that called a playbook tool',
      registers,
      collect() {
        this.set(sample().callRate);
      },
    });
    new Gauge({
      name: 'holmesgpt_playbook_tool_call_cache_hit_rate',
      help: 'Share (0 to 1) of the calls of playbook tools in the last hour that were answered from memory',
      registers,
      collect() {
        this.set(sample().cacheHitRate);
      },
    });
  }
}
