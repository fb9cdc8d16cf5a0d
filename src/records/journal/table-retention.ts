import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { IntervalLoop } from '../../common/interval-loop.js';

/** Deletes a table's old rows once after the start, which does not wait for it, then at an interval. */
export abstract class TableRetention implements OnApplicationBootstrap, OnApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private readonly loop: IntervalLoop;

  constructor(everyMs: number, failed: string) {
    this.loop = new IntervalLoop(
      () => this.run(),
      everyMs,
      (error) => this.logger.error(error, failed),
    );
  }

  abstract run(): Promise<void>;

  onApplicationBootstrap(): void {
    this.loop.start(0);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
