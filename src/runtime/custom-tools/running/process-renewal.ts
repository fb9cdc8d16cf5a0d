import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { residentBytes } from '../../sandbox/memory-watch.js';
import { RunningTools } from './running-tools.js';

/** Checks age and memory of all processes at an interval, so that expired ones are replaced. */
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

  /** Checks one pool per turn of the event loop, because /proc takes about 0.05 ms per process. */
  private async inspectAll(): Promise<void> {
    for (const pool of this.running.living()) {
      pool.inspect(residentBytes);
      await nextTurn();
    }
  }
}
