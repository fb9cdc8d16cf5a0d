import pg from 'pg';
import type { DataSource } from 'typeorm';
import type { AppConfig } from '../config/app-config.js';

/** Durations in milliseconds. */
export interface SinkSettings {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly queryTimeoutMs: number;
}

/** Those of the database that everything else works on. */
export function sinkSettings(
  { options }: DataSource,
  { database }: Pick<AppConfig, 'database'>,
): SinkSettings {
  if (options.type !== 'postgres' || !options.url) throw new Error('The journal needs a PostgreSQL URL');
  const { connectTimeoutMs, queryTimeoutMs } = database;
  return { url: options.url, connectTimeoutMs, queryTimeoutMs };
}

/**
 * A sink's own connection to the database, made anew whenever it fails.
 * @param connected is called with each new connection; a connection that it throws for is not used
 */
export class SinkConnection {
  private client: pg.Client | undefined;

  constructor(
    private readonly settings: SinkSettings,
    private readonly isRecordFault: (error: unknown) => boolean,
    private readonly connected: (client: pg.Client) => Promise<void> = () => Promise.resolve(),
  ) {}

  /** A connection that failed or timed out is in an unknown state: it is never used again. */
  async with<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = (this.client ??= await this.connect());
    try {
      return await work(client);
    } catch (error) {
      if (!this.isRecordFault(error)) void this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }

  private async connect(): Promise<pg.Client> {
    const { url, connectTimeoutMs, queryTimeoutMs } = this.settings;
    const client = new pg.Client({
      connectionString: url,
      application_name: 'toolkeeper journal',
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: queryTimeoutMs,
      statement_timeout: queryTimeoutMs,
      idle_in_transaction_session_timeout: queryTimeoutMs,
    });
    client.on('error', () => {
      if (this.client === client) this.client = undefined;
    });
    try {
      await client.connect();
      await client.query('SET plan_cache_mode = force_generic_plan');
      await this.connected(client);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }
}
