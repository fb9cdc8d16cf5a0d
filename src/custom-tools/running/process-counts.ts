import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import { forgetTool } from '../../observability/forget-tool.js';
import { CustomToolRuntimes, type RuntimeEvent } from './custom-tool-runtimes.js';
import { processMetricNames } from './process.metrics.js';

/** Counts starts, ends and stray lines of tools' processes. */
@Injectable()
export class ProcessCounts {
  constructor(
    private readonly runtimes: CustomToolRuntimes,
    @InjectMetric(processMetricNames.spawns) private readonly spawns: Counter,
    @InjectMetric(processMetricNames.terminations) private readonly terminations: Counter,
    @InjectMetric(processMetricNames.strayLines) private readonly strayLines: Counter,
  ) {
    runtimes.events.subscribe((event) => this.count(event));
  }

  /** Removes the series of a deleted tool once its last process has ended. */
  async forget(tool: string): Promise<void> {
    await this.runtimes.ended(tool);
    // The name may have been taken again meanwhile.
    if (this.runtimes.get(tool)) return;
    await forgetTool(tool, [this.spawns, this.terminations, this.strayLines]);
  }

  private count(event: RuntimeEvent): void {
    const tool = event.pool;
    if (event.type === 'spawn') this.spawns.inc({ tool });
    else if (event.type === 'terminate') this.terminations.inc({ tool, reason: event.reason });
    else if (event.type === 'noise') this.strayLines.inc({ tool }, event.lines);
  }
}
