import type pg from 'pg';
import { type Column, ColumnArrays, type Queryable } from '../../../base/database/column-arrays.js';
import { isValueFault, sqlStateOf } from '../../../base/database/transient-error.js';
import type { JournalRecord } from '../../journal/journal-entry.js';
import { type SinkSettings, TableSink } from '../../journal/table-sink.js';
import { type SpanRow, startDayOf } from '../span-row.js';

/** SQLSTATE if a day's partition is missing. Then the row is valid, and the partition is made again. */
const noPartition = '23514';

/** Stores the records of the spans' journal. */
export class SpanSink extends TableSink<SpanRow> {
  /** Days whose partitions exist. */
  private readonly madeDays = new Set<string>();

  constructor(settings: SinkSettings) {
    super('spans', settings);
  }

  isRecordFault(error: unknown): boolean {
    return isValueFault(error) && sqlStateOf(error) !== noPartition;
  }

  /** A record of this journal has the row of a span as its start, because only the ingest appends to it. */
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

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

/** Columns with unconverted members of the row. A member is null if the journal of an older server lacks it. */
const plain = (type: string, names: string): Record<string, Column<SpanRow>> =>
  // `model` stands for all of the names, which are known at run time only.
  Object.fromEntries(names.split(' ').map((name) => [name, [type, (row) => row[name as 'model'] ?? null]]));

/** Columns of a row by the member's name, with their types and values. */
const columns: Readonly<Record<string, Column<SpanRow>>> = {
  startDay: ['date', startDayOf],
  ...plain(
    'text',
    'project traceId spanId parentSpanId threadId runId operation kind callPart status errorMessage',
  ),
  ...plain('text', 'model requestModel toolName label costSource argumentsHash keyId clientId'),
  ...plain('text', 'semanticPattern semanticSeverity semanticSource semanticSnippet semanticCallId'),
  ...plain('int8', 'startUs finishUs inputTokens outputTokens cachedTokens reasoningTokens ttftUs'),
  ...plain('numeric', 'cost'),
  ...plain('uuid', 'executionId'),
  ...plain('jsonb', 'attributes'),
  toolCalls: ['jsonb', (row) => json(row.toolCalls)],
  toolErrors: ['jsonb', (row) => json(row.toolErrors)],
};

/** Converts rows to the parameters of the statement, which reads them as `batch`. */
const batch = new ColumnArrays(columns);
/** Primary key of both tables. */
const key = ['project', 'trace_id', 'span_id', 'start_day'];
/** Columns of the table `spans`; the attributes are in `span_contents`. */
const spanColumns = batch.names.filter((name) => name !== 'attributes');
/** Assignments for a span that exists. */
const changes = spanColumns
  .filter((name) => !key.includes(name) && name !== 'thread_id')
  .map((name) => `${name} = excluded.${name}`);

/**
 * The thread of a span. A span that has a parent but names no thread belongs to the thread that the root spans of its trace
 * name, in this batch or an earlier one, if they name only one.
 */
const threadOfSpan = `CASE WHEN thread_id IS NOT NULL OR parent_span_id IS NULL THEN thread_id
      WHEN min(root_thread) OVER trace = max(root_thread) OVER trace THEN min(root_thread) OVER trace
      ELSE (SELECT thread_id FROM trace_threads AS known WHERE known.project = batch.project AND known.trace_id = batch.trace_id)
      END`;
/** The values of these columns, from `batch`. */
const insertedValues = spanColumns.map((name) => (name === 'thread_id' ? threadOfSpan : name));

/** Inserts spans with their attributes. A span that exists is replaced if the new one finishes later. */
const insertStatement = `
  WITH batch AS MATERIALIZED (${batch.select}),
  written AS (
    INSERT INTO spans AS known (${spanColumns.join(', ')})
    SELECT ${insertedValues.join(', ')}
    FROM (SELECT *, CASE WHEN parent_span_id IS NULL THEN thread_id END AS root_thread FROM batch) AS batch
    WINDOW trace AS (PARTITION BY project, trace_id)
    ORDER BY ${key.join(', ')}
    ON CONFLICT (${key.join(', ')})
    DO UPDATE SET ${changes.join(', ')}, thread_id = coalesce(excluded.thread_id, known.thread_id)
    WHERE excluded.finish_us > known.finish_us
    RETURNING ${key.join(', ')}
  )
  INSERT INTO span_contents (${key.join(', ')}, attributes)
  SELECT ${key.join(', ')}, attributes FROM batch JOIN written USING (${key.join(', ')})
  ON CONFLICT (${key.join(', ')}) DO UPDATE SET attributes = excluded.attributes`;

/** Inserts spans, whose days must have partitions. Spans that are stored already stay as they are. */
export async function insertSpans(db: Queryable, rows: readonly SpanRow[]): Promise<void> {
  const uniqueRows = latestByKey(rows);
  if (uniqueRows.length === 0) return;
  await db.query(insertStatement, batch.parametersOf(uniqueRows));
}

/** Makes the partitions of days (UTC, as in `2026-01-23`) that do not exist yet. */
export async function makeSpanDays(db: Queryable, days: Iterable<string>): Promise<void> {
  for (const day of [...days].sort()) await db.query('SELECT make_spans_day($1::date)', [day]);
}

/** The latest row of each key, because one statement must not write a row twice. Sorted, so that writers do not deadlock. */
function latestByKey(rows: readonly SpanRow[]): SpanRow[] {
  const latest = new Map<string, SpanRow>();
  for (const row of rows) {
    const id = JSON.stringify([row.project, row.traceId, row.spanId, startDayOf(row)]);
    const known = latest.get(id);
    if (!known || row.finishUs > known.finishUs) latest.set(id, row);
  }
  return [...latest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
