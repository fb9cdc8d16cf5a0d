import { Inject, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { Replicas } from '../../base/database/replicas.js';

/** Deletes a table's old rows. Runs at an interval and after each election; only the elected replica deletes. */
export abstract class TableRetention implements OnApplicationBootstrap, OnApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private readonly loop: IntervalLoop;
  @Inject(Replicas) private readonly replicas!: Replicas;

  /** @param failed message of the log entry if a run fails */
  constructor(everyMs: number, failed: string) {
    this.loop = new IntervalLoop(
      async () => this.run(this.replicas.keepsHouse),
      everyMs,
      (error) => this.logger.error(error, failed),
    );
  }

  /** Runs the retention. @param deletes whether this replica deletes rows, for all replicas */
  abstract run(deletes: boolean): Promise<void>;

  onApplicationBootstrap(): void {
    this.loop.start(0);
    this.replicas.elected.subscribe(() => this.loop.hasten(0));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
