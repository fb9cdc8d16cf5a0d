import pg from 'pg';
import type { DataSource } from 'typeorm';
import { messageOf } from '../../base/common/message-of.js';
import { sanitisedText } from '../../base/common/pg-text.js';
import type { AppConfig } from '../../base/config/app-config.js';
import { timeouts } from '../../base/database/timeouts.js';
import type { DrainSink } from './drain-thread.js';
import type { JournalRecord } from './journal-entry.js';

/** Connection and tables of a sink. Durations are in milliseconds. */
export interface SinkSettings {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly queryTimeoutMs: number;
}

/** Settings of a sink for the server's database. */
export function sinkSettings(
  { options }: DataSource,
  { database }: Pick<AppConfig, 'database'>,
): SinkSettings {
  if (options.type !== 'postgres' || !options.url) throw new Error('The journal needs a PostgreSQL URL');
  const { connectTimeoutMs, queryTimeoutMs, sessionUrl = options.url } = database;
  return { url: sessionUrl, connectTimeoutMs, queryTimeoutMs };
}

/** Writes records to a table, and refused ones to `<table>_quarantine`, by a connection that is replaced after a failure. */
export abstract class TableSink<Row> implements DrainSink {
  private client: pg.Client | undefined;

  constructor(
    private readonly table: string,
    private readonly settings: SinkSettings,
  ) {}

  abstract isRecordFault(error: unknown): boolean;
  /** The row of a record. */
  protected abstract rowOf(record: JournalRecord): Row;
  /** Columns of the quarantine besides `reason` and `record`. */
  protected abstract quarantineKey(row: Row): Readonly<Record<string, string>>;
  /** Inserts records. Stored ones must be ignored. */
  protected abstract write(client: pg.Client, records: readonly JournalRecord[]): Promise<void>;

  /** Prepares a new connection. If this throws, the connection is not used. */
  protected async onConnected(_client: pg.Client): Promise<void> {}

  insert(records: readonly JournalRecord[]): Promise<void> {
    return this.withClient((client) => this.write(client, records));
  }

  /** Stores a record in the quarantine, with the reason. */
  async quarantine(record: JournalRecord, reason: unknown): Promise<void> {
    const row = this.rowOf(record);
    const values = { ...this.quarantineKey(row), reason: messageOf(reason), record: JSON.stringify(row) };
    const columns = Object.keys(values);
    const insert = `
      INSERT INTO ${this.table}_quarantine (${columns.join(', ')})
      VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})
      ON CONFLICT DO NOTHING`;
    await this.withClient((client) => client.query(insert, Object.values(values).map(sanitisedText)));
  }

  async close(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }

  /** Runs the table's insert as a prepared statement: for small batches, planning takes longer than inserting. */
  protected prepared(client: pg.Client): { query(text: string, values: unknown[]): Promise<unknown> } {
    return { query: (text, values) => client.query({ name: `insert_${this.table}`, text, values }) };
  }

  /** Runs work on the connection, which is replaced after a failure or timeout, because its state is unknown then. */
  private async withClient(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
    const client = (this.client ??= await this.connect());
    try {
      await work(client);
    } catch (error) {
      if (!this.isRecordFault(error)) void this.close();
      throw error;
    }
  }

  private async connect(): Promise<pg.Client> {
    const { url, connectTimeoutMs, queryTimeoutMs } = this.settings;
    const client = new pg.Client({
      connectionString: url,
      application_name: 'toolkeeper journal',
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: queryTimeoutMs,
    });
    client.on('error', () => {
      if (this.client === client) this.client = undefined;
    });
    try {
      await client.connect();
      await client.query(timeouts(queryTimeoutMs, queryTimeoutMs));
      await client.query('SET plan_cache_mode = force_generic_plan');
      await this.onConnected(client);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }
}
