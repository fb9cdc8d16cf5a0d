import { Injectable } from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { Contributors, forgetTool } from '../../observability/contributors.js';
import { CallMetrics } from '../../tools/call.metrics.js';
import { residentBytes } from './resident-memory.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';
import { poolsOf, sumOfStats } from './tool-backend.js';

const processMetricNames = {
  spawns: 'toolkeeper_process_spawns_total',
  terminations: 'toolkeeper_process_terminations_total',
  strayLines: 'toolkeeper_process_stray_lines_total',
  processes: 'toolkeeper_processes',
  memory: 'toolkeeper_process_memory_bytes',
} as const;

export const processMetrics = [
  makeCounterProvider({
    name: processMetricNames.spawns,
    help: 'Tool processes started',
    labelNames: ['tool'],
  }),
  makeCounterProvider({
    name: processMetricNames.terminations,
    help: 'Tool processes ended, by reason',
    labelNames: ['tool', 'reason'],
  }),
  makeCounterProvider({
    name: processMetricNames.strayLines,
    help: 'Lines on the stdout of tool processes that were no messages',
    labelNames: ['tool'],
  }),
  makeGaugeProvider({
    name: processMetricNames.processes,
    help: 'Tool processes by state',
    labelNames: ['tool', 'state'],
  }),
  makeGaugeProvider({
    name: processMetricNames.memory,
    help: "Resident memory of a tool's processes",
    labelNames: ['tool'],
  }),
];

/** Counts starts, ends and stray lines of tools' processes. */
@Injectable()
export class ProcessCounts {
  constructor(
    private readonly running: RunningTools,
    private readonly callMetrics: CallMetrics,
    @InjectMetric(processMetricNames.spawns) private readonly spawns: Counter,
    @InjectMetric(processMetricNames.terminations) private readonly terminations: Counter,
    @InjectMetric(processMetricNames.strayLines) private readonly strayLines: Counter,
  ) {
    running.events.subscribe((event) => this.count(event));
    running.deletions.subscribe((tool) => void this.forget(tool));
  }

  /** Removes the series of a deleted tool: those of its processes once the last one has ended. */
  private async forget(tool: string): Promise<void> {
    void this.callMetrics.forget(tool);
    await this.running.ended(tool);
    // The name may have been taken again meanwhile.
    if (this.running.get(tool)) return;
    await forgetTool(tool, [this.spawns, this.terminations, this.strayLines]);
  }

  private count(event: RuntimeEvent): void {
    const tool = event.pool;
    if (event.type === 'spawn') this.spawns.inc({ tool });
    else if (event.type === 'terminate') this.terminations.inc({ tool, reason: event.reason });
    else if (event.type === 'noise') this.strayLines.inc({ tool }, event.lines);
  }
}

/** The processes of each loaded tool and their memory, looked at when somebody scrapes. */
@Injectable()
export class ProcessGauges {
  constructor(
    private readonly running: RunningTools,
    contributors: Contributors,
    @InjectMetric(processMetricNames.processes) private readonly processes: Gauge,
    @InjectMetric(processMetricNames.memory) private readonly memory: Gauge,
  ) {
    contributors.addSampler(() => this.sample());
  }

  private sample(): void {
    this.processes.reset();
    this.memory.reset();
    for (const { definition, backend } of this.running.all()) {
      const stats = sumOfStats(poolsOf(backend));
      if (!stats) continue;
      const tool = definition.name;
      const { pids, starting, idle, busy } = stats;
      for (const [state, count] of Object.entries({ starting, idle, busy })) {
        this.processes.set({ tool, state }, count);
      }
      this.memory.set(
        { tool },
        pids.reduce((sum, pid) => sum + (residentBytes(pid) ?? 0), 0),
      );
    }
  }
}
