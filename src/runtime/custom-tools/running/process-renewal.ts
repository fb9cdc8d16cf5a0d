import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { readProc } from '../../../base/common/process-identity.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { RunningTools } from './running-tools.js';

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
