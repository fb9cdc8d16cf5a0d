import { Logger } from '@nestjs/common';
import type { DataSourceOptions } from 'typeorm';
import { IntervalLoop } from '../common/interval-loop.js';
import { DatabaseClient } from './database-health.js';

const timeoutMs = 5_000;

export interface Followed {
  /** Name for the log, such as "the playbook catalogue". */
  readonly what: string;
  /** The channel that the table's trigger notifies of changes. */
  readonly channel: string;
  /** Interval of polling in addition to notifications. */
  readonly intervalMs: number;
}

/**
 * Follows changes of a table by other replicas or by an operator. The database notifies of changes at once; polling
 * covers connections on which notifications do not work, such as those through a pooler.
 */
export class TableFollower {
  private readonly logger = new Logger(TableFollower.name);
  private readonly loop: IntervalLoop;
  /** A connection of its own that receives notifications, for as long as that lasts. */
  private client: DatabaseClient | undefined;
  private onlyLooks = false;

  /** @param look checks for changes and reads them */
  constructor(
    private readonly options: DataSourceOptions,
    private readonly followed: Followed,
    private readonly look: () => Promise<void>,
  ) {
    this.loop = new IntervalLoop(
      () => this.follow(),
      followed.intervalMs,
      // The database may be away for long: one line is enough.
      (error, again) => again || this.logger.error(error, `Changes of ${followed.what} are not seen for now`),
    );
  }

  /** The first look is taken at once. */
  start(): void {
    this.loop.start(0);
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }

  private async follow(): Promise<void> {
    // The look does not wait for it: a connection may take long where the database is hard to reach.
    void this.listen().catch((error: unknown) => this.cannotListen(error));
    await this.look();
  }

  /**
   * Does nothing while it listens already. Each new connection counts as a change: notifications before it are lost.
   * @throws the driver's error
   */
  private async listen(): Promise<void> {
    if (this.client || this.options.type !== 'postgres' || this.options.url === undefined) return;
    const client = new DatabaseClient({
      connectionString: this.options.url,
      application_name: 'toolkeeper-listener',
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
    });
    const lost = (): void => {
      if (this.client === client) this.client = undefined;
    };
    client.on('error', lost).on('end', lost);
    client.on('notification', () => this.loop.hasten(0));
    this.client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${this.followed.channel}`);
      this.loop.hasten(0);
    } catch (error) {
      lost();
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  private cannotListen(error: unknown): void {
    if (!this.onlyLooks)
      this.logger.warn(`Changes of ${this.followed.what} are looked for only: ${String(error)}`);
    this.onlyLooks = true;
  }
}
