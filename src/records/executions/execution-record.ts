import { newId } from '../../base/common/ids.js';
import type { ExecutedCall } from '../../web/contract/call-events.js';
import type { OutcomeStatus } from '../../web/contract/tool-outcome.js';
import type { ToolMetric } from './tool-metric.entity.js';
import { sanitisedText, storableJson } from '../../base/common/pg-text.js';
import { type Column, ColumnArrays, type Queryable } from '../../base/database/column-arrays.js';
import { isValueFault } from '../../base/database/transient-error.js';
import { rollUp } from './rollups/rollup.sql.js';

/**
 * The journal's record of an execution before its tool gets it; `startedAt` in milliseconds since the epoch. An absent
 * member is the column's null, 0 or false.
 */
export type ExecutionStart = Pick<ToolMetric, 'toolName' | 'userId' | 'metadata'> &
  Partial<ToolMetric> & { readonly startedAt: number };

/** An execution's input and answer, without what its tool knows to be secret. */
export interface CapturedPayload {
  /** The input in one line. */
  readonly preview: string;
  readonly input?: unknown;
  readonly result?: unknown;
  /** The error of the outcome. */
  readonly error?: unknown;
  /** Parts that were too large, or no JSON. */
  readonly omitted?: readonly string[];
  /** A secret was taken out of the input: it is not what the tool was given. */
  readonly redacted?: true;
}

/** The journal's record of its end. */
export type ExecutionEnd = Pick<ToolMetric, 'executionTimeMs'> & {
  readonly status: OutcomeStatus;
  readonly errorType?: ExecutedCall['errorType'];
  /** Goes to a table of its own. */
  readonly payload?: CapturedPayload;
} & Partial<Pick<ToolMetric, 'errorMessage' | 'toolFault' | 'outputSize' | 'metadata'>>;

/**
 * A successful execution of zero length now, except for what is given. Apart from the entity, so that the thread that
 * drains the journal does not load TypeORM.
 */
export function newToolMetric(fields: Pick<ToolMetric, 'toolName'> & Partial<ToolMetric>): ToolMetric {
  return {
    metricId: fields.metricId ?? newId(fields.recordedAt?.getTime()),
    userId: 'anonymous',
    sessionId: null,
    requestId: null,
    investigationId: null,
    runId: null,
    traceId: null,
    parentSpanId: null,
    status: 'success',
    executionTimeMs: 0,
    errorType: null,
    errorMessage: null,
    parametersHash: null,
    inputSize: 0,
    outputSize: 0,
    metadata: {},
    isTest: false,
    toolFault: false,
    semanticFailure: null,
    recordedAt: fields.recordedAt ?? new Date(),
    ...fields,
  };
}

/** The gateway died while it ran. The result is unknown and not a fault of the tool. */
const interrupted: ExecutionEnd = {
  status: 'error',
  executionTimeMs: 0,
  errorType: 'interrupted',
  errorMessage: 'The gateway ended before the call did',
};

/** The record of an execution as the journal has it; without an `end` it was interrupted. */
export const metricOf = (
  metricId: string,
  { startedAt, ...start }: ExecutionStart,
  { payload: _apart, ...end } = interrupted,
): ToolMetric =>
  newToolMetric({
    ...start,
    ...end,
    metricId,
    requestId: start.requestId ?? metricId,
    metadata: { ...start.metadata, ...end.metadata },
    recordedAt: new Date(startedAt),
  });

const maxInteger = 2_147_483_647;
const wholeNumber = (value: number): number => Math.min(Math.max(Math.round(value), 0), maxInteger) || 0;
const optionalText = (text: string | null): string | null => (text === null ? null : sanitisedText(text));
/** Milliseconds since the epoch: written and read ten times as fast as an ISO text. */
function storableTime(date: Date): number {
  const time = date.getTime();
  if (Number.isNaN(time)) throw new RangeError('Invalid time value');
  return time;
}

const columns: Readonly<Record<keyof ToolMetric, Column<ToolMetric>>> = {
  metricId: ['uuid', (metric) => metric.metricId],
  toolName: ['text', (metric) => sanitisedText(metric.toolName)],
  userId: ['text', (metric) => sanitisedText(metric.userId)],
  sessionId: ['text', (metric) => optionalText(metric.sessionId)],
  requestId: ['text', (metric) => optionalText(metric.requestId)],
  investigationId: ['text', (metric) => optionalText(metric.investigationId)],
  runId: ['text', (metric) => optionalText(metric.runId)],
  traceId: ['text', (metric) => optionalText(metric.traceId)],
  parentSpanId: ['text', (metric) => optionalText(metric.parentSpanId)],
  status: ['text', (metric) => sanitisedText(metric.status)],
  executionTimeMs: ['int4', (metric) => wholeNumber(metric.executionTimeMs)],
  errorType: ['text', (metric) => optionalText(metric.errorType)],
  errorMessage: ['text', (metric) => optionalText(metric.errorMessage)],
  parametersHash: ['text', (metric) => optionalText(metric.parametersHash)],
  inputSize: ['int4', (metric) => wholeNumber(metric.inputSize)],
  outputSize: ['int4', (metric) => wholeNumber(metric.outputSize)],
  metadata: ['jsonb', (metric) => storableJson(metric.metadata)],
  isTest: ['bool', (metric) => metric.isTest],
  toolFault: ['bool', (metric) => metric.toolFault],
  recordedAt: ['float8', (metric) => storableTime(metric.recordedAt)],
  semanticFailure: ['text', (metric) => optionalText(metric.semanticFailure)],
};

/** A metric that cannot be written down (metadata that is no JSON, an invalid date) throws. */
const metricColumns = new ColumnArrays(columns);
const { names } = metricColumns;
/** The columns of a row, as its members. */
export const executionColumns = Object.keys(columns)
  .map((member, at) => `${names[at]} AS "${member}"`)
  .join(', ');
const values = names.map((name) => (name === 'recorded_at' ? 'to_timestamp(recorded_at / 1000)' : name));
const writer = names.length + 1;

/** The columns of a row that the cells count. */
const returned =
  'tool_name, status, error_type, is_test, execution_time_ms, input_size, output_size, semantic_failure, tool_fault, recorded_at';

const insertRows = `
    INSERT INTO tool_metrics (${names.join(', ')})
    SELECT ${values.join(', ')}
    FROM (${metricColumns.select}) AS batch`;

/**
 * One array a column, in the order of `metricColumns`, then the writer's slot. A row that is there already stays as it
 * is and is counted no second time.
 */
const insertMetrics = rollUp(
  `${insertRows} ON CONFLICT (recorded_at, metric_id) DO NOTHING RETURNING ${returned}`,
  `$${writer}::int`,
);

/** The writer slot of metrics that come without a journal; journals lease theirs from 1 on. */
export const directSlot = 0;

/** A metric that cannot even be sent. */
class UnstorableMetric extends Error {
  override readonly name = 'UnstorableMetric';
}

/**
 * Writes metrics in one statement; ids that are there already change nothing, so that a batch may be repeated.
 * @param writerSlot no two writers share one at the same time
 * @throws UnstorableMetric, or what the database says; `isRowFault` tells whose fault it is
 */
export async function insertBatch(
  db: Queryable,
  metrics: readonly ToolMetric[],
  writerSlot: number,
): Promise<void> {
  if (metrics.length === 0) return;
  await db.query(insertMetrics, [...parametersOf(metrics), writerSlot]);
}

/** Trying again would fail again: the values are to blame, not the database. */
export function isRowFault(error: unknown): boolean {
  return error instanceof UnstorableMetric || isValueFault(error);
}

function parametersOf(metrics: readonly ToolMetric[]): string[] {
  try {
    return metricColumns.parametersOf(metrics);
  } catch (error) {
    throw new UnstorableMetric('The metric cannot be written down', { cause: error });
  }
}
