import type pg from 'pg';
import { messageOf } from '../../common/message-of.js';
import { storableText } from '../../common/pg-text.js';
import type { Queryable } from '../../database/column-arrays.js';
import { isValueFault, sqlStateOf } from '../../database/sql-state.js';
import type { RecordSink } from '../../journal/journal-drain.js';
import type { JournalRecord } from '../../journal/journal-entry.js';
import { SinkConnection, type SinkSettings } from '../../journal/sink-connection.js';
import { insertSpans, makeSpanDays } from '../insert-spans.js';
import { type SpanRow, startDayOf } from '../span-row.js';

const insertQuarantined = `
  INSERT INTO spans_quarantine (project, trace_id, span_id, reason, record)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT DO NOTHING`;
/** A day's partition is gone: the row is good. */
const noPartition = '23514';

/** The database as the drain of the spans' journal sees it. */
export class SpanSink implements RecordSink {
  private readonly connection: SinkConnection;
  private readonly madeDays = new Set<string>();

  constructor(settings: SinkSettings) {
    this.connection = new SinkConnection(settings, (error) => this.isRecordFault(error));
  }

  async insert(records: readonly JournalRecord[]): Promise<void> {
    const rows = records.map(rowOf);
    const days = new Set(rows.map(startDayOf).filter((day) => !this.madeDays.has(day)));
    try {
      await this.connection.with(async (client) => {
        await makeSpanDays(client, days);
        await insertSpans(prepared(client), rows);
      });
      for (const day of days) this.madeDays.add(day);
    } catch (error) {
      if (sqlStateOf(error) === noPartition) this.madeDays.clear();
      throw error;
    }
  }

  async quarantine(record: JournalRecord, reason: unknown): Promise<void> {
    const row = rowOf(record);
    const values = [row.project, row.traceId, row.spanId, messageOf(reason)].map(storableText);
    await this.connection.with((client) =>
      client.query(insertQuarantined, [...values, storableText(JSON.stringify(row))]),
    );
  }

  isRecordFault(error: unknown): boolean {
    return isValueFault(error) && sqlStateOf(error) !== noPartition;
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

/** The ingest alone appends to this journal, so that its entries are spans. */
const rowOf = ({ start }: JournalRecord): SpanRow => start as SpanRow;

/** The insert is planned once a connection. */
const prepared = (client: pg.Client): Queryable => ({
  query: (text, values) => client.query({ name: 'insert_spans', text, values }),
});
