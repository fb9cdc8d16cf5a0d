import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { Contributors } from '../../observability/contributors.js';
import { CustomToolRuntimes } from './custom-tool-runtimes.js';
import { processMetricNames } from './process.metrics.js';
import { residentBytes } from './resident-memory.js';

/** The processes of each loaded tool and their memory, looked at when somebody scrapes. */
@Injectable()
export class ProcessGauges {
  constructor(
    private readonly runtimes: CustomToolRuntimes,
    contributors: Contributors,
    @InjectMetric(processMetricNames.processes) private readonly processes: Gauge,
    @InjectMetric(processMetricNames.memory) private readonly memory: Gauge,
  ) {
    contributors.addSampler(() => this.sample());
  }

  private sample(): void {
    this.processes.reset();
    this.memory.reset();
    for (const { definition, backend } of this.runtimes.all()) {
      if (!('pool' in backend)) continue;
      const tool = definition.name;
      const { pids, starting, idle, busy } = backend.pool.stats();
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
