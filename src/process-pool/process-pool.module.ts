import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { PoolFactory } from './pool-factory.js';
import { StartSlots } from './start-slots.js';
import { spawnerMetrics, ToolSpawner } from './tool-spawner.js';

/** Starts processes and pools them: one spawner, one set of start slots, and the pools that share them. */
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
