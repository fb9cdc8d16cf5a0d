import { Logger } from '@nestjs/common';
import type { DataSourceOptions } from 'typeorm';
import { IntervalLoop } from '../common/interval-loop.js';
import { ChannelListener } from './channel-listener.js';

export interface Followed {
  /** For the log, such as "the playbook catalogue". */
  readonly what: string;
  /** The channel to which the table's trigger says that something changed. */
  readonly channel: string;
  /** How often it is looked at even so. */
  readonly intervalMs: number;
}

/**
 * Follows what other replicas, or an operator in the database, change in a table. The database says at once that
 * something changed; where it cannot (a pooler between us and it), the table is looked at every so often.
 */
export class TableFollower {
  private readonly logger = new Logger(TableFollower.name);
  private readonly loop: IntervalLoop;
  private readonly listener: ChannelListener;
  private onlyLooks = false;

  /** @param look asks whether anything changed, and reads it */
  constructor(
    options: DataSourceOptions,
    private readonly followed: Followed,
    private readonly look: () => Promise<void>,
  ) {
    this.loop = new IntervalLoop(
      () => this.follow(),
      followed.intervalMs,
      // The database may be away for long: one line is enough.
      (error, again) => again || this.logger.error(error, `Changes of ${followed.what} are not seen for now`),
    );
    this.listener = new ChannelListener(options, followed.channel, () => this.loop.hasten(0));
  }

  /** The first look is taken at once. */
  start(): void {
    this.loop.start(0);
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    await this.listener.close();
  }

  private async follow(): Promise<void> {
    // The look does not wait for it: a connection may take long where the database is hard to reach.
    void this.listener.listen().catch((error: unknown) => this.cannotListen(error));
    await this.look();
  }

  private cannotListen(error: unknown): void {
    if (!this.onlyLooks)
      this.logger.warn(`Changes of ${this.followed.what} are looked for only: ${String(error)}`);
    this.onlyLooks = true;
  }
}
