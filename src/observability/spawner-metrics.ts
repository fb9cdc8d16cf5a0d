import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';

export interface SpawnerSample {
  /** It starts the tools' processes; when it does not, they are started directly. */
  readonly up: boolean;
  readonly restarts: number;
  /** Starts that wait for it or are under way. */
  readonly waiting: number;
}

/** How the program that starts processes is; asked of its client when somebody scrapes. */
@Injectable()
export class SpawnerMetrics {
  private source: () => SpawnerSample = () => ({ up: false, restarts: 0, waiting: 0 });

  constructor(registry: Registry) {
    const sample = (): SpawnerSample => this.source();
    const registers = [registry];
    new Gauge({
      name: 'toolkeeper_spawner_up',
      help: '1: processes are started by the spawner; 0: directly',
      registers,
      collect() {
        this.set(Number(sample().up));
      },
    });
    new Gauge({
      name: 'toolkeeper_spawner_waiting',
      help: 'Starts of processes that the spawner has not answered',
      registers,
      collect() {
        this.set(sample().waiting);
      },
    });
    new Counter({
      name: 'toolkeeper_spawner_restarts_total',
      help: 'Spawners that took the place of one that died',
      registers,
      collect() {
        this.reset();
        this.inc(sample().restarts);
      },
    });
  }

  observe(source: () => SpawnerSample): void {
    this.source = source;
  }
}
