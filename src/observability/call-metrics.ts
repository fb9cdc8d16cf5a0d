import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { DurationTally, TalliedHistogram } from './tallied-histogram.js';
import { type Tally, ToolTallies } from './tool-tallies.js';

interface CallTally extends Tally {
  readonly ended: Record<CallStatus, number>;
  readonly refused: Map<string, number>;
  readonly durations: DurationTally;
}

type CallStatus = 'success' | 'error' | 'timeout';

/** From a warm process's answer to the longest time-out that is usual, in seconds. */
const durationBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** What the door counts. The values of the label `tool` are bounded by the registered tools and `unknown`. */
@Injectable()
export class CallMetrics {
  private readonly tallies = new ToolTallies<CallTally>(newTally);

  constructor(registry: Registry) {
    const registers = [registry];
    const { tallies } = this;
    new TalliedHistogram(
      {
        name: 'toolkeeper_call_duration_seconds',
        help: 'Duration of executions, queue wait and process start included',
        labelNames: ['tool'],
        buckets: durationBuckets,
        registers,
      },
      function* () {
        // A tool whose calls were all refused has no execution to show.
        for (const [tool, { durations }] of tallies.entries()) {
          if (durations.count > 0) yield [tool, durations] as const;
        }
      },
    );
    new Counter({
      name: 'toolkeeper_calls_total',
      help: 'Executions by outcome',
      labelNames: ['tool', 'status'],
      registers,
      collect() {
        this.reset();
        for (const [tool, { ended }] of tallies.entries()) {
          for (const [status, count] of Object.entries(ended)) this.inc({ tool, status }, count);
        }
      },
    });
    new Counter({
      name: 'toolkeeper_refusals_total',
      help: 'Calls that were not run, by reason',
      labelNames: ['tool', 'reason'],
      registers,
      collect() {
        this.reset();
        for (const [tool, { refused }] of tallies.entries()) {
          for (const [reason, count] of refused) this.inc({ tool, reason }, count);
        }
      },
    });
    new Gauge({
      name: 'toolkeeper_calls_in_flight',
      help: 'Executions that run or wait for a process',
      labelNames: ['tool'],
      registers,
      collect() {
        this.reset();
        for (const [tool, { live }] of tallies.entries()) this.set({ tool }, live);
      },
    });
  }

  started(tool: string): void {
    this.tallies.begin(tool);
  }

  /** Ends what `started` began; `seconds` is the execution's whole time. */
  ended(tool: string, status: CallStatus, seconds: number): void {
    const tally = this.tallies.end(tool);
    tally.durations.observe(seconds);
    tally.ended[status] += 1;
  }

  /** `tool` is undefined where no tool has the name that was asked for: callers must not invent label values. */
  refused(tool: string | undefined, reason: string): void {
    const { refused } = this.tallies.of(tool ?? 'unknown');
    refused.set(reason, (refused.get(reason) ?? 0) + 1);
  }

  /** How often calls of a tool were refused, by reason. */
  *refusalsOf(tool: string): Iterable<[string, number]> {
    for (const [name, { refused }] of this.tallies.entries()) if (name === tool) yield* refused;
  }

  /** Removes the series of a deleted tool. */
  forget(tool: string): void {
    this.tallies.forget(tool);
  }
}

const newTally = (): CallTally => ({
  live: 0,
  forgotten: false,
  ended: { success: 0, error: 0, timeout: 0 },
  refused: new Map(),
  durations: new DurationTally(durationBuckets),
});
