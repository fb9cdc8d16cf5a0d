import type pg from 'pg';
import { messageOf } from '../common/message-of.js';
import { storableText } from '../common/pg-text.js';
import type { Queryable } from '../database/column-arrays.js';
import type { DrainSink } from '../journal/drain-thread.js';
import type { JournalRecord } from '../journal/journal-entry.js';
import { SinkConnection, type SinkSettings } from '../journal/sink-connection.js';
import { insertBatch, isRowFault } from './batch-insert.js';
import { type ExecutionEnd, type ExecutionStart, metricOf } from './execution-record.js';
import { insertPayloads, type PayloadRow } from './payload-insert.js';
import { ResultReader, type ResultToRead } from './semantic/result-reader.js';
import type { ToolMetric } from './tool-metric.entity.js';

export interface ExecutionSinkSettings extends SinkSettings {
  /** The memory of the ResultBacklog. */
  readonly resultBacklog: SharedArrayBuffer;
}

/** 'journal\0' in ASCII: no other program's advisory locks have this class by chance. */
const slotClass = 0x6a6f7572;
const slots = 256;
const insertQuarantined = `
  INSERT INTO tool_metrics_quarantine (metric_id, tool_name, reason, record)
  VALUES ($1, $2, $3, $4)
  ON CONFLICT (metric_id) DO NOTHING`;
const leaseSlot = `
  SELECT slot FROM generate_series(1, $2::int) AS slot WHERE pg_try_advisory_lock($1::int, slot) LIMIT 1`;

/** The database as the drain of the executions' journal sees it. */
export class ExecutionSink implements DrainSink {
  private readonly connection: SinkConnection;
  private readonly results: ResultReader;
  private slot = 0;

  constructor(settings: ExecutionSinkSettings) {
    this.results = new ResultReader(settings.resultBacklog);
    this.connection = new SinkConnection(settings, isRowFault, async (client) => {
      this.slot = await lease(client);
    });
  }

  /** The recorder sends results alone. */
  receive(message: unknown): void {
    this.results.read(message as ResultToRead);
  }

  async insert(records: readonly JournalRecord[]): Promise<void> {
    await this.results.caughtUp();
    const metrics = records.map((record) => this.results.complete(toMetric(record)));
    await this.connection.with(async (client) => {
      // First: a row that shows up has its payload.
      await insertPayloads(client, records.flatMap(payloadIn));
      await insertBatch(prepared(client), metrics, this.slot);
    });
    this.results.forget(records.map(({ id }) => id));
  }

  async quarantine(record: JournalRecord, reason: unknown): Promise<void> {
    const { toolName } = record.start as Partial<ExecutionStart>;
    const values = [record.id, String(toolName), messageOf(reason)].map(storableText);
    await this.connection.with((client) =>
      client.query(insertQuarantined, [...values, JSON.stringify(toMetric(record))]),
    );
  }

  isRecordFault(error: unknown): boolean {
    return isRowFault(error);
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

/** The recorder alone appends to this journal, so that its entries are executions. */
const toMetric = ({ id, start, end }: JournalRecord): ToolMetric =>
  metricOf(id, start as ExecutionStart, end as ExecutionEnd | undefined);

function payloadIn({ id, start, end }: JournalRecord): PayloadRow[] {
  const { startedAt } = start as ExecutionStart;
  const payload = (end as ExecutionEnd | undefined)?.payload;
  return payload ? [{ id, startedAt, payload }] : [];
}

/** The insert is planned once a connection: for small batches planning takes longer than it does. */
const prepared = (client: pg.Client): Queryable => ({
  query: (text, values) => client.query({ name: 'insert_metrics', text, values }),
});

/** A number that no other drain of this database has: side by side they never wait for each other's rollup rows. */
async function lease(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ slot: number }>(leaseSlot, [slotClass, slots]);
  const [row] = rows;
  if (!row) throw new Error(`All ${slots} writer slots of the database are taken`);
  return row.slot;
}
