import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Contributors } from '../../base/observability/contributors.js';
import { type Launcher, launch } from './launcher.js';
import { findSpawner, SpawnerClient, type SpawnerEvent } from './spawner-client.js';

const spawnerMetricNames = {
  up: 'toolkeeper_spawner_up',
  waiting: 'toolkeeper_spawner_waiting',
  restarts: 'toolkeeper_spawner_restarts_total',
} as const;

export const spawnerMetrics = [
  makeGaugeProvider({
    name: spawnerMetricNames.up,
    help: '1: processes are started by the spawner; 0: directly',
  }),
  makeGaugeProvider({
    name: spawnerMetricNames.waiting,
    help: 'Starts of processes that the spawner has not answered',
  }),
  makeCounterProvider({
    name: spawnerMetricNames.restarts,
    help: 'Spawners that took the place of one that died',
  }),
];

const directly =
  'processes of tools are started by the server itself: each start holds up everything else for some milliseconds, ' +
  'and what leaves its process group outlives its tool';

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
      const { usable, waiting: asked } = client.stats();
      up.set(Number(usable));
      waiting.set(asked);
    });
  }

  /** Whether all descendants of a tool end with it, even those that left its process group. */
  get endsDescendants(): boolean {
    return this.client?.stats().usable === true;
  }

  /** Starts the spawner early, while this process is small: forking copies its page tables. */
  onApplicationBootstrap(): void {
    if (!this.client) {
      this.logger.warn(`No spawner for ${process.platform}-${process.arch} in native/bin: ${directly}`);
    }
    this.client?.start();
  }

  /** Ends all remaining processes, after the pools have ended theirs. */
  async onApplicationShutdown(): Promise<void> {
    await this.client?.close();
  }

  private on(event: SpawnerEvent): void {
    if (event.type === 'unusable') {
      return this.logger.error(`The spawner cannot work here (${event.why}): ${directly}`);
    }
    const { pid, why, running } = event;
    this.restarts.inc();
    this.logger.error(
      `The spawner (pid ${pid}) ${why}, and ${running} processes of tools with it; another took its place`,
    );
  }
}
