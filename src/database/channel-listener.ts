import type { DataSourceOptions } from 'typeorm';
import { DatabaseClient } from './database-client.js';

const patienceMs = 5_000;

/** Hears of changes over a connection of its own, for as long as that lasts; `listen` makes another one. */
export class ChannelListener {
  private client: DatabaseClient | undefined;

  constructor(
    private readonly options: DataSourceOptions,
    /** Of NOTIFY. */
    private readonly channel: string,
    private readonly heard: () => void,
  ) {}

  /**
   * Does nothing while it listens already. What changed before counts as heard once it listens.
   * @throws the driver's error
   */
  async listen(): Promise<void> {
    if (this.client || this.options.type !== 'postgres' || this.options.url === undefined) return;
    const client = new DatabaseClient({
      connectionString: this.options.url,
      application_name: 'toolkeeper-listener',
      connectionTimeoutMillis: patienceMs,
      query_timeout: patienceMs,
      keepAlive: true,
    });
    const lost = (): void => {
      if (this.client === client) this.client = undefined;
    };
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', () => this.heard());
    this.client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${this.channel}`);
      this.heard();
    } catch (error) {
      lost();
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }
}
