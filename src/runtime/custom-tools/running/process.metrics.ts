import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Counter, Gauge } from 'prom-client';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { readProc } from '../../../base/common/process-identity.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { Contributors, forgetTool } from '../../../base/observability/contributors.js';
import { CallReports } from '../../../call/door/call-reports.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';
import { poolsOf, sumOfStats } from './tool-backend.js';

const spawns = 'toolkeeper_process_spawns_total';
const terminations = 'toolkeeper_process_terminations_total';
const strayLines = 'toolkeeper_process_stray_lines_total';
const processes = 'toolkeeper_processes';
const memory = 'toolkeeper_process_memory_bytes';
const strayHelp = 'Lines on the stdout of tool processes that were no messages';
const [tool, reason, state] = ['tool', 'reason', 'state'];

export const processMetrics = [
  makeCounterProvider({ name: spawns, help: 'Tool processes started', labelNames: [tool] }),
  makeCounterProvider({
    name: terminations,
    help: 'Tool processes ended, by reason',
    labelNames: [tool, reason],
  }),
  makeCounterProvider({ name: strayLines, help: strayHelp, labelNames: [tool] }),
  makeGaugeProvider({ name: processes, help: 'Tool processes by state', labelNames: [tool, state] }),
  makeGaugeProvider({ name: memory, help: "Resident memory of a tool's processes", labelNames: [tool] }),
];

/** Counts starts, ends and unparsed lines of tools' processes; which there are, and their memory, is looked up for a scrape. */
@Injectable()
export class ProcessMetrics {
  constructor(
    private readonly running: RunningTools,
    private readonly calls: CallReports,
    contributors: Contributors,
    @InjectMetric(spawns) private readonly spawns: Counter,
    @InjectMetric(terminations) private readonly terminations: Counter,
    @InjectMetric(strayLines) private readonly strayLines: Counter,
    @InjectMetric(processes) private readonly processes: Gauge,
    @InjectMetric(memory) private readonly memory: Gauge,
  ) {
    contributors.addSampler(() => this.sample());
  }

  count(event: RuntimeEvent): void {
    const tool = event.pool;
    if (event.type === 'spawn') this.spawns.inc({ tool });
    else if (event.type === 'terminate') this.terminations.inc({ tool, reason: event.reason });
    else if (event.type === 'unparsed') this.strayLines.inc({ tool }, event.lines);
  }

  /** Removes the series of a deleted tool: those of its processes once the last one has ended. */
  async forget(tool: string): Promise<void> {
    void this.calls.forget(tool);
    await this.running.ended(tool);
    // The name may have been taken again meanwhile.
    if (this.running.get(tool)) return;
    await forgetTool(tool, [this.spawns, this.terminations, this.strayLines]);
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

/** Looks at the age and memory of every tool's processes, outside of calls, so that worn ones are replaced. */
@Injectable()
export class ProcessRenewal implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(ProcessRenewal.name);
  private readonly loop: IntervalLoop;

  constructor(
    @Inject(APP_CONFIG) { customTools }: AppConfig,
    private readonly running: RunningTools,
  ) {
    const onError = (error: unknown): void => this.logger.error(error);
    this.loop = new IntervalLoop(() => this.inspectAll(), customTools.processCheckIntervalMs, onError);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** One pool a turn of the event loop: reading /proc takes about 0.05 ms a process. */
  private async inspectAll(): Promise<void> {
    for (const pool of this.running.living()) {
      pool.inspect(residentBytes);
      await nextTurn();
    }
  }
}

/**
 * Resident memory in bytes of a process and everything below it: a sandboxed tool sits under its launcher.
 * VmRSS is in kB whatever the page size, which statm's pages are not.
 * @returns undefined if the process is gone
 */
export function residentBytes(pid: number): number | undefined {
  const status = readProc(pid, 'status');
  return status === '' ? undefined : total(pid, status);
}

/** A process that has ended, waited for or not, has no VmRSS. */
function total(pid: number, status: string): number {
  const own = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  const children = readProc(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return children.reduce((sum, child) => sum + total(child, readProc(child, 'status')), own);
}
