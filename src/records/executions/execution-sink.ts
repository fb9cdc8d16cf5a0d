import type pg from 'pg';
import { arrayLiteral, sanitisedText } from '../../base/common/pg-text.js';
import { tellOwner } from '../../base/common/worker-calls.js';
import type { JournalRecord } from '../journal/journal-entry.js';
import type { SinkNews } from '../journal/drain-thread.js';
import { type SinkSettings, TableSink } from '../journal/table-sink.js';
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

/** Connection of the sink, and the memory that it shares with the main thread. */
export interface ExecutionSinkSettings extends SinkSettings {
  /** The memory of the ResultBacklog. */
  readonly resultBacklog: SharedArrayBuffer;
}

/** Class of the advisory locks on slots: 'jour' in ASCII, to avoid collisions with locks of other programs. */
const slotClass = 0x6a6f7572;
const maxSlots = 256;
/** Locks the first free slot for the connection. Parameters: class, number of slots. */
const leaseSlot = `
  SELECT slot FROM generate_series(1, $2::int) AS slot WHERE pg_try_advisory_lock($1::int, slot) LIMIT 1`;

/** Parameters: arrays of ids, times in milliseconds, previews, payloads. */
const insertPayloadRows = `
  INSERT INTO execution_payloads (metric_id, recorded_at, preview, payload)
  SELECT metric_id, to_timestamp(at / 1000), preview, payload
  FROM unnest($1::uuid[], $2::float8[], $3::text[], $4::text[]) AS batch (metric_id, at, preview, payload)
  ON CONFLICT (metric_id) DO NOTHING`;

/** Stores the records of the executions' journal, with the errors that are found in their results. */
export class ExecutionSink extends TableSink<ToolMetric> {
  private readonly results: ResultReader;
  private readonly callers = new CallerCap();
  /** Slot of this writer in the rollups. */
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

  /** Stores payloads and executions, and reports executions with findings. */
  protected async write(client: pg.Client, records: readonly JournalRecord[]): Promise<void> {
    const metrics = records.map((record) => this.results.complete(this.rowOf(record)));
    // Payloads first, so that a visible execution has its payload.
    await insertPayloads(client, records);
    await insertBatch(this.prepared(client), await withRuns(client, metrics), this.slot, this.callers);
    const names = metrics.filter(hasCountedFinding).map(({ toolName }) => toolName);
    if (names.length > 0) tellOwner<SinkNews>({ event: 'counted', names });
  }

  /** Leases a slot that no other drain of this database has, so that drains do not wait for each other's rollup rows. */
  protected override async onConnected(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ slot: number }>(leaseSlot, [slotClass, maxSlots]);
    const [row] = rows;
    if (!row) throw new Error(`All ${maxSlots} writer slots of the database are taken`);
    this.slot = row.slot;
  }
}

/** Whether an execution has a finding and is no test. */
const hasCountedFinding = ({ isTest, semanticFailure, metadata }: ToolMetric): boolean =>
  !isTest && (semanticFailure ?? metadata['semanticError']) !== undefined;

/** Stores payloads. Stored ones are ignored, so that a batch may be repeated. */
async function insertPayloads(client: pg.Client, records: readonly JournalRecord[]): Promise<void> {
  const rows = records.flatMap(({ id, start, end = {} }) => {
    const { payload: { preview, ...payload } = {} } = end as Partial<ExecutionEnd>;
    const { startedAt } = start as ExecutionStart;
    // Stored with JSON's escapes, so that PostgreSQL accepts all texts.
    return preview === undefined ? [] : [[id, startedAt, sanitisedText(preview), JSON.stringify(payload)]];
  });
  if (rows.length === 0) return;
  const columns = [0, 1, 2, 3].map((column) => arrayLiteral(rows.map((row) => row[column] ?? null)));
  await client.query(insertPayloadRows, columns);
}

/** Parameters: arrays of projects, groups, starts and ends. The function finds or makes the run of each group. */
const joinRuns = 'SELECT * FROM join_call_runs($1, $2, $3, $4)';

/** Gives calls that name neither a trace nor a run the trace of their group: an investigation, a thread or a session. */
export async function withRuns(client: pg.Client, metrics: readonly ToolMetric[]): Promise<ToolMetric[]> {
  const calls = metrics.flatMap((metric) => {
    const group = groupOf(metric);
    if (group === undefined) return [];
    const { projectId } = metric.metadata;
    const project = typeof projectId === 'string' ? projectId : 'default';
    return [{ metric, group, project, startMs: metric.recordedAt.getTime() }];
  });
  if (calls.length === 0) return [...metrics];
  const columns = [
    calls.map(({ project }) => project),
    calls.map(({ group }) => group),
    calls.map(({ startMs }) => startMs),
    calls.map(({ startMs, metric }) => startMs + metric.executionTimeMs),
  ];
  const query = { name: 'join_call_runs', text: joinRuns, values: columns.map(arrayLiteral) };
  // `place` is the position of a call, from 1.
  const { rows } = await client.query<{ place: string; trace: string }>(query);
  const traceIds = new Map(rows.map(({ place, trace }) => [calls[Number(place) - 1]?.metric, trace]));
  return metrics.map((metric) => {
    const traceId = traceIds.get(metric);
    return traceId === undefined ? metric : { ...metric, traceId };
  });
}

/** Max characters of the id of a group. */
const maxGroupIdLength = 400;

/** The group of a call as `kind:id`; undefined if the call named its trace or run, or belongs to no group. */
function groupOf({ metricId, traceId, runId, isTest, ...call }: ToolMetric): string | undefined {
  // A call that names no trace has its own id as the id of its trace.
  const namesTrace = traceId !== metricId.replaceAll('-', '');
  if (runId || isTest || namesTrace) return undefined;
  const { investigationId, sessionId, metadata } = call;
  const idsByKind = { investigation: investigationId, thread: metadata['threadId'], session: sessionId };
  const [kind, id] = Object.entries(idsByKind).find(([, each]) => typeof each === 'string') ?? [];
  return kind && `${kind}:${sanitisedText(String(id).slice(0, maxGroupIdLength))}`;
}
