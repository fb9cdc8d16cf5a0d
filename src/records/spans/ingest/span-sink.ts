import type pg from 'pg';
import { isValueFault, sqlStateOf } from '../../../base/database/transient-error.js';
import type { JournalRecord } from '../../journal/journal-entry.js';
import { type SinkSettings, TableSink } from '../../journal/table-sink.js';
import { insertSpans, makeSpanDays } from '../insert-spans.js';
import { type SpanRow, startDayOf } from '../span-row.js';

/** A day's partition is gone: the row is good. */
const noPartition = '23514';

/** The sink of the spans' journal. */
export class SpanSink extends TableSink<SpanRow> {
  private readonly madeDays = new Set<string>();

  constructor(settings: SinkSettings) {
    super('spans', settings);
  }

  isRecordFault(error: unknown): boolean {
    return isValueFault(error) && sqlStateOf(error) !== noPartition;
  }

  /** The ingest alone appends to this journal, so that its entries are spans. */
  protected rowOf({ start }: JournalRecord): SpanRow {
    return start as SpanRow;
  }

  protected quarantineKey({ project, traceId, spanId }: SpanRow): Record<string, string> {
    return { project, trace_id: traceId, span_id: spanId };
  }

  protected async write(client: pg.Client, records: readonly JournalRecord[]): Promise<void> {
    const rows = records.map((record) => this.rowOf(record));
    const days = new Set(rows.map(startDayOf).filter((day) => !this.madeDays.has(day)));
    try {
      await makeSpanDays(client, days);
      await insertSpans(this.prepared(client), rows);
    } catch (error) {
      if (sqlStateOf(error) === noPartition) this.madeDays.clear();
      throw error;
    }
    for (const day of days) this.madeDays.add(day);
  }
}
