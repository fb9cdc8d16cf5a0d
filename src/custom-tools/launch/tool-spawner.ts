import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { portOf } from '../../outbound/addresses.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { Contributors } from '../../observability/contributors.js';
import { type Launcher, launch } from '../../process-pool/launcher.js';
import { findSpawner, SpawnerClient, type SpawnerEvent } from '../../process-pool/spawner-client.js';
import type { Server } from 'node:net';
import { HttpAdapterHost } from '@nestjs/core';
import type { PreparedLaunch } from './launch-preparation.js';
import { remoteLauncher, type RemoteLimits } from '../../mcp/client/remote-server.js';
import { StartSlots } from '../../process-pool/start-slots.js';

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

/**
 * What starts the processes of all tools: one spawner, or the server itself where there is none for the platform; and
 * what bounds how many there are.
 */
@Injectable()
export class ToolSpawner implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly launch: Launcher;
  /** Shared by all that start a process of a tool. */
  readonly slots: StartSlots;
  private readonly client: SpawnerClient | undefined;
  private readonly remote: RemoteLimits;
  /** Sessions with servers elsewhere are no processes: they are not counted. */
  private readonly unbounded = new StartSlots();
  private readonly logger = new Logger(ToolSpawner.name);

  constructor(
    @Inject(APP_CONFIG) { root, customTools }: AppConfig,
    contributors: Contributors,
    @InjectMetric(spawnerMetricNames.up) up: Gauge,
    @InjectMetric(spawnerMetricNames.waiting) waiting: Gauge,
    @InjectMetric(spawnerMetricNames.restarts) private readonly restarts: Counter,
    http: HttpAdapterHost,
  ) {
    this.remote = {
      maxBytes: customTools.maxOutputBytes,
      linesPerSecond: customTools.outputLinesPerSecond,
      ownPort: () => portOf(http.httpAdapter.getHttpServer() as Server),
    };
    this.slots = new StartSlots(customTools.maxProcesses, customTools.maxConcurrentStarts);
    const binary = findSpawner(root);
    const client =
      binary === undefined
        ? undefined
        : new SpawnerClient({ binary, maxUnderWay: customTools.maxConcurrentStarts });
    this.client = client;
    this.launch = client?.launch ?? launch;
    if (!client) return;
    client.events.subscribe((event) => this.on(event));
    contributors.addSampler(() => {
      const { usable, queued, underWay } = client.stats();
      up.set(Number(usable));
      waiting.set(queued + underWay);
    });
  }

  /** What starts a tool's processes, or its sessions where it runs elsewhere. */
  starts({ remote }: PreparedLaunch): { readonly slots: StartSlots; readonly launch: Launcher } {
    return remote ? { slots: this.unbounded, launch: remoteLauncher(remote, this.remote) } : this;
  }

  /** Whatever a tool starts ends with it, also what leaves its process group. */
  get endsDescendants(): boolean {
    return this.client?.stats().usable === true;
  }

  /** While this process is still small: starting the spawner costs a fork, too. */
  onApplicationBootstrap(): void {
    if (!this.client) {
      this.logger.warn(`No spawner for ${process.platform}-${process.arch} in native/bin: ${directly}`);
    }
    this.client?.start();
  }

  /** The pools have ended their processes before; what is left ends now. */
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
