import { Injectable, Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { StartSlots } from './start-slots.js';
import { spawnerMetrics, ToolSpawner } from './tool-spawner.js';
import type { Launcher } from './launcher.js';
import type { PoolSettings } from './pool.types.js';
import { ProcessPool } from './process-pool.js';

/** Creates the pools of all tools, which share one spawner and the start slots. */
@Injectable()
export class PoolFactory {
  /** Unlimited, because sessions with remote servers are not processes. */
  private readonly unbounded = new StartSlots();

  constructor(
    private readonly spawner: ToolSpawner,
    private readonly slots: StartSlots,
  ) {}

  /** @param elsewhere starts sessions with a remote server instead of processes */
  create(settings: PoolSettings, elsewhere?: Launcher): ProcessPool {
    return elsewhere
      ? new ProcessPool(settings, this.unbounded, elsewhere)
      : new ProcessPool(settings, this.slots, this.spawner.launch);
  }

  /**
   * Runs `work`, which starts and ends one process outside of any pool, when a slot is free.
   * @throws PoolFailure `timeout` if no slot was free within `waitMs`
   */
  runOnce<T>(waitMs: number, work: (launcher: Launcher) => Promise<T>, elsewhere?: Launcher): Promise<T> {
    return elsewhere ? work(elsewhere) : this.slots.run(waitMs, () => work(this.spawner.launch));
  }
}

/** Provides the spawner and the start slots that all process pools share, and the factory of the pools. */
@Module({
  providers: [
    ToolSpawner,
    ...spawnerMetrics,
    {
      provide: StartSlots,
      inject: [APP_CONFIG],
      useFactory: ({ customTools }: AppConfig) =>
        new StartSlots(customTools.maxProcesses, customTools.maxConcurrentStarts),
    },
    PoolFactory,
  ],
  exports: [ToolSpawner, StartSlots, PoolFactory],
})
export class ProcessPoolModule {}
