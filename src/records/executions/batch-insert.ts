import { storableJson, sanitisedText } from '../../common/pg-text.js';
import { type Column, ColumnArrays, type Queryable } from '../../database/column-arrays.js';
import { isValueFault } from '../../database/transient-error.js';
import { rollUp } from './rollups/rollup.sql.js';
import type { ToolMetric } from './tool-metric.entity.js';

const maxInteger = 2_147_483_647;
const wholeNumber = (value: number): number => Math.min(Math.max(Math.round(value), 0), maxInteger) || 0;
const optionalText = (text: string | null): string | null => (text === null ? null : sanitisedText(text));
/** Milliseconds since 1970: written and read ten times as fast as an ISO text. */
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
  semanticFailure: ['text', (metric) => optionalText(metric.semanticFailure)],
  recordedAt: ['float8', (metric) => storableTime(metric.recordedAt)],
};

/** A metric that cannot be written down (metadata that is no JSON, an invalid date) throws. */
const metricColumns = new ColumnArrays(columns);
const { names } = metricColumns;
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
