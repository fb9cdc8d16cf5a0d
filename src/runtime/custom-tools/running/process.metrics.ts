import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { Contributors } from '../../../base/observability/contributors.js';
import { counter, forgetTool, gauge } from '../../../base/observability/metrics.js';
import { CallReports } from '../../../call/door/call-reports.js';
import { residentBytes } from '../../sandbox/memory-watch.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';
import { poolsOf, sumOfStats } from './tool-backend.js';

/* Names of the metrics. */
const spawns = 'toolkeeper_process_spawns_total';
const terminations = 'toolkeeper_process_terminations_total';
const unparsedLines = 'toolkeeper_process_stray_lines_total';
const processes = 'toolkeeper_processes';
const memory = 'toolkeeper_process_memory_bytes';

/** The metrics of tools' processes, as providers. */
export const processMetrics = [
  counter(spawns, 'Tool processes started', 'tool'),
  counter(terminations, 'Tool processes ended, by reason', 'tool', 'reason'),
  counter(unparsedLines, 'Lines on the stdout of tool processes that were no messages', 'tool'),
  gauge(processes, 'Tool processes by state', 'tool', 'state'),
  gauge(memory, "Resident memory of a tool's processes", 'tool'),
];

/** Counts starts, ends and unparsed lines of tools' processes. At each scrape it measures their number and memory. */
@Injectable()
export class ProcessMetrics {
  constructor(
    private readonly running: RunningTools,
    private readonly calls: CallReports,
    contributors: Contributors,
    @InjectMetric(spawns) private readonly spawns: Counter,
    @InjectMetric(terminations) private readonly terminations: Counter,
    @InjectMetric(unparsedLines) private readonly unparsedLines: Counter,
    @InjectMetric(processes) private readonly processes: Gauge,
    @InjectMetric(memory) private readonly memory: Gauge,
  ) {
    contributors.addSampler(() => this.sample());
  }

  /** Counts an event of a pool. */
  count(event: RuntimeEvent): void {
    const tool = event.pool;
    if (event.type === 'spawn') this.spawns.inc({ tool });
    else if (event.type === 'terminate') this.terminations.inc({ tool, reason: event.reason });
    else if (event.type === 'unparsed') this.unparsedLines.inc({ tool }, event.lines);
  }

  /** Removes the series of a deleted tool, once its last process has ended. */
  async forget(tool: string): Promise<void> {
    void this.calls.forget(tool);
    await this.running.whenEnded(tool);
    // The name may have been registered again meanwhile.
    if (this.running.get(tool)) return;
    await forgetTool(tool, [this.spawns, this.terminations, this.unparsedLines]);
  }

  /** Sets the gauges to the present processes. */
  private sample(): void {
    this.processes.reset();
    this.memory.reset();
    for (const { definition, backend } of this.running.all()) {
      const stats = sumOfStats(poolsOf(backend));
      if (!stats) continue;
      const tool = definition.name;
      const { pids, starting, idle, busy } = stats;
      for (const [state, count] of Object.entries({ starting, idle, busy }))
        this.processes.set({ tool, state }, count);
      this.memory.set(
        { tool },
        pids.reduce((sum, pid) => sum + (residentBytes(pid) ?? 0), 0),
      );
    }
  }
}
