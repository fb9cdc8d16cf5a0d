import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { PoolFactory } from './pool-factory.js';
import { StartSlots } from './start-slots.js';
import { spawnerMetrics, ToolSpawner } from './tool-spawner.js';

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
