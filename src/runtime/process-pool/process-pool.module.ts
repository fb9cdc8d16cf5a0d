import {
  Inject,
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Contributors } from '../../base/observability/contributors.js';
import { counter, gauge } from '../../base/observability/metrics.js';
import { launch, type Launcher } from './launcher.js';
import type { PoolSettings } from './pool.types.js';
import { ProcessPool } from './process-pool.js';
import { findSpawner, SpawnerClient, type SpawnerEvent } from './spawner-client.js';
import { StartSlots } from './start-slots.js';

const spawnerMetricNames = {
  up: 'toolkeeper_spawner_up',
  waiting: 'toolkeeper_spawner_waiting',
  restarts: 'toolkeeper_spawner_restarts_total',
} as const;

const spawnerMetrics = [
  gauge(spawnerMetricNames.up, '1: processes are started by the spawner; 0: directly'),
  gauge(spawnerMetricNames.waiting, 'Starts of processes that the spawner has not answered'),
  counter(spawnerMetricNames.restarts, 'Spawners that took the place of one that died'),
];

const withoutSpawner =
  'processes of tools are started by the server itself: each start blocks everything else for some milliseconds, ' +
  'and processes that leave the process group outlive their tool';

/** Starts the processes of all tools: through one spawner, or directly on platforms without one. */
@Injectable()
export class ToolSpawner implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly launch: Launcher;
  private readonly client: SpawnerClient | undefined;
  private readonly logger = new Logger(ToolSpawner.name);

  constructor(
    @Inject(APP_CONFIG) { root }: AppConfig,
    contributors: Contributors,
    @InjectMetric(spawnerMetricNames.up) up: Gauge,
    @InjectMetric(spawnerMetricNames.waiting) waiting: Gauge,
    @InjectMetric(spawnerMetricNames.restarts) private readonly restarts: Counter,
  ) {
    const binary = findSpawner(root);
    const client = binary === undefined ? undefined : new SpawnerClient({ binary });
    this.client = client;
    this.launch = client?.launch ?? launch;
    if (!client) return;
    client.events.subscribe((event) => this.on(event));
    contributors.addSampler(() => {
      const stats = client.stats();
      up.set(Number(stats.usable));
      waiting.set(stats.waiting);
    });
  }

  /** Whether all descendants of a tool end with it, even those that left its process group. */
  get endsDescendants(): boolean {
    return this.client?.usable === true;
  }

  /** Starts the spawner early, while this process is small: forking copies its page tables. */
  onApplicationBootstrap(): void {
    if (!this.client) {
      this.logger.warn(`No spawner for ${process.platform}-${process.arch} in native/bin: ${withoutSpawner}`);
    }
    this.client?.start();
  }

  /** Ends all remaining processes, after the pools have ended theirs. */
  async onApplicationShutdown(): Promise<void> {
    await this.client?.close();
  }

  private on(event: SpawnerEvent): void {
    if (event.type === 'unusable') {
      return this.logger.error(`The spawner cannot work here (${event.why}): ${withoutSpawner}`);
    }
    const { pid, why, running } = event;
    this.restarts.inc();
    this.logger.error(
      `The spawner (pid ${pid}) ${why}, and ${running} processes of tools with it; another took its place`,
    );
  }
}

/** Creates the pools of all tools, which share one spawner and the start slots. */
@Injectable()
export class PoolFactory {
  /** Unlimited, because sessions with remote servers are not processes. */
  private readonly unbounded = new StartSlots();

  constructor(
    private readonly spawner: ToolSpawner,
    private readonly slots: StartSlots,
  ) {}

  /** Creates a pool. @param remote starts sessions with a remote server instead of processes */
  create(settings: PoolSettings, remote?: Launcher): ProcessPool {
    return remote
      ? new ProcessPool(settings, this.unbounded, remote)
      : new ProcessPool(settings, this.slots, this.spawner.launch);
  }

  /** Runs `work`, which starts and ends one process, when a slot is free. @throws PoolFailure `timeout` after `waitMs` */
  runOnce<T>(waitMs: number, work: (launcher: Launcher) => Promise<T>, remote?: Launcher): Promise<T> {
    return remote ? work(remote) : this.slots.run(waitMs, () => work(this.spawner.launch));
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
