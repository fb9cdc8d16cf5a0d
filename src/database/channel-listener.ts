import type { DataSourceOptions } from 'typeorm';
import { DatabaseClient } from './database-client.js';

const timeoutMs = 5_000;

/** Receives notifications over a connection of its own, for as long as that lasts; `listen` makes another one. */
export class ChannelListener {
  private client: DatabaseClient | undefined;

  constructor(
    private readonly options: DataSourceOptions,
    /** Of NOTIFY. */
    private readonly channel: string,
    private readonly onChange: () => void,
  ) {}

  /**
   * Does nothing while it listens already. Each new connection reports a change: notifications before it are lost.
   * @throws the driver's error
   */
  async listen(): Promise<void> {
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
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', () => this.onChange());
    this.client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${this.channel}`);
      this.onChange();
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
