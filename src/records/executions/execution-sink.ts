import type pg from 'pg';
import { arrayLiteral, sanitisedText } from '../../base/common/pg-text.js';
import { tellOwner } from '../../base/common/worker-calls.js';
import type { JournalRecord } from '../journal/journal-entry.js';
import type { SinkNews } from '../journal/drain-thread.js';
import { type SinkSettings, TableSink } from '../journal/table-sink.js';
import { withRuns } from './call-runs.js';
import {
  type ExecutionEnd,
  type ExecutionStart,
  insertBatch,
  isRowFault,
  metricOf,
  type ToolMetric,
} from './execution-record.js';
import { CallerCap } from './rollups/caller-cap.js';
import { ResultReader, type ResultToRead } from './semantic/result-reader.js';

export interface ExecutionSinkSettings extends SinkSettings {
  /** The memory of the ResultBacklog. */
  readonly resultBacklog: SharedArrayBuffer;
}

/** 'jour' in ASCII, to avoid collisions with advisory locks of other programs. */
const slotClass = 0x6a6f7572;
const slots = 256;
const leaseSlot = `
  SELECT slot FROM generate_series(1, $2::int) AS slot WHERE pg_try_advisory_lock($1::int, slot) LIMIT 1`;

const insertPayloadRows = `
  INSERT INTO execution_payloads (metric_id, recorded_at, preview, payload)
  SELECT metric_id, to_timestamp(at / 1000), preview, payload
  FROM unnest($1::uuid[], $2::float8[], $3::text[], $4::text[]) AS batch (metric_id, at, preview, payload)
  ON CONFLICT (metric_id) DO NOTHING`;

/** The sink of the executions' journal. */
export class ExecutionSink extends TableSink<ToolMetric> {
  private readonly results: ResultReader;
  private readonly callers = new CallerCap();
  private slot = 0;

  constructor(settings: ExecutionSinkSettings) {
    super('tool_metrics', settings);
    this.results = new ResultReader(settings.resultBacklog);
  }

  /** Receives a result: the recorder sends no other messages. */
  receive(message: unknown): void {
    this.results.read(message as ResultToRead);
  }

  override async insert(records: readonly JournalRecord[]): Promise<void> {
    await this.results.caughtUp();
    await super.insert(records);
    this.results.forget(records.map(({ id }) => id));
  }

  isRecordFault(error: unknown): boolean {
    return isRowFault(error);
  }

  /** The row of a record. All records are executions, because only the recorder appends to this journal. */
  protected rowOf({ id, start, end }: JournalRecord): ToolMetric {
    return metricOf(id, start as ExecutionStart, end as ExecutionEnd | undefined);
  }

  protected quarantineKey({ metricId, toolName }: ToolMetric): Record<string, string> {
    return { metric_id: metricId, tool_name: String(toolName) };
  }

  protected async write(client: pg.Client, records: readonly JournalRecord[]): Promise<void> {
    const metrics = records.map((record) => this.results.complete(this.rowOf(record)));
    // Payloads first, so that a visible execution has its payload.
    await insertPayloads(client, records);
    await insertBatch(this.prepared(client), await withRuns(client, metrics), this.slot, this.callers);
    const found = metrics.filter((row) => !row.isTest && (row.semanticFailure ?? row.metadata.semanticError));
    const names = found.map(({ toolName }) => toolName);
    if (names.length > 0) tellOwner<SinkNews>({ event: 'counted', names });
  }

  /** Leases a slot that no other drain of this database has, so that drains do not wait for each other's rollup rows. */
  protected override async connected(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ slot: number }>(leaseSlot, [slotClass, slots]);
    const [row] = rows;
    if (!row) throw new Error(`All ${slots} writer slots of the database are taken`);
    this.slot = row.slot;
  }
}

/** Stores payloads. Stored ones are ignored, so that a batch may be repeated. */
async function insertPayloads(client: pg.Client, records: readonly JournalRecord[]): Promise<void> {
  const rows = records.flatMap(({ id, start, end = {} }) => {
    const { payload: { preview, ...payload } = {} } = end as Partial<ExecutionEnd>;
    const { startedAt } = start as ExecutionStart;
    // Stored with JSON's escapes, so that PostgreSQL accepts all texts.
    return preview === undefined ? [] : [[id, startedAt, sanitisedText(preview), JSON.stringify(payload)]];
  });
  if (rows.length === 0) return;
  const columns = [0, 1, 2, 3].map((at) => arrayLiteral(rows.map((row) => row[at] ?? null)));
  await client.query(insertPayloadRows, columns);
}
