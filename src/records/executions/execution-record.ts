import { newId } from '../../base/common/ids.js';
import type { ExecutedCall } from '../../web/contract/call-events.js';
import type { OutcomeStatus } from '../../web/contract/tool-outcome.js';
import type { ExecutionView } from './tool-metrics.dto.js';
import { arrayLiteral, sanitisedText, storableJson } from '../../base/common/pg-text.js';
import { type Cell, type Column, ColumnArrays, type Queryable } from '../../base/database/column-arrays.js';
import { isValueFault } from '../../base/database/transient-error.js';
import { CallerCap } from './rollups/caller-cap.js';
import { countedColumns, rollUp, rowProject } from './rollups/rollup.sql.js';

/** The row of an execution in `tool_metrics`. */
export type ToolMetric = Omit<ExecutionView, 'inputPreview' | 'project'>;

/** The journal's record of an execution's start. An absent member is stored as null, 0 or false. */
export type ExecutionStart = Pick<ToolMetric, 'toolName' | 'userId' | 'metadata'> &
  // In milliseconds since the epoch.
  Partial<ToolMetric> & { readonly startedAt: number };

/** The captured input and answer of an execution, without the tool's secrets. */
export interface CapturedPayload {
  /** The input in one line. */
  readonly preview: string;
  readonly input?: unknown;
  readonly result?: unknown;
  /** The error of the outcome. */
  readonly error?: unknown;
  /** Names of parts that were too large, or no JSON. */
  readonly omitted?: readonly string[];
  /** Present if a secret was removed from the input, which then differs from what the tool got. */
  readonly redacted?: true;
}

/** The journal's record of an execution's end. */
export type ExecutionEnd = Pick<ToolMetric, 'executionTimeMs'> & {
  readonly status: OutcomeStatus;
  readonly errorType?: ExecutedCall['errorType'];
  /** Stored in the table execution_payloads. */
  readonly payload?: CapturedPayload;
} & Partial<Pick<ToolMetric, 'errorMessage' | 'toolFault' | 'outputSize' | 'metadata'>>;

/** The end of an execution whose process died. Its result is unknown, which is not the tool's fault. */
const interrupted: ExecutionEnd = {
  status: 'error',
  executionTimeMs: 0,
  errorType: 'interrupted',
  errorMessage: 'The gateway ended before the call did',
};

/** The row of a journal's record, without the payload. Without an `end`, the execution was interrupted. */
export const metricOf = (
  metricId: string,
  { startedAt, ...start }: ExecutionStart,
  { payload: _payload, ...end } = interrupted,
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

/** A column's database type, its default, and a function that converts a value for storage. */
type Member<T> = readonly [type: string, defaultValue: T, stored: (value: T) => Cell];
const text = (defaultValue = ''): Member<string> => ['text', defaultValue, sanitisedText];
const optionalText: Member<string | null> = ['text', null, (value) => value && sanitisedText(value)];
const count: Member<number> = [
  'int4',
  0,
  (value) => Math.min(Math.max(Math.round(value), 0), maxInteger) || 0,
];
const flag: Member<boolean> = ['bool', false, (value) => value];

/** A time as milliseconds since the epoch, which are written and read ten times as fast as an ISO text. */
function storableTime(date: Date): number {
  const ms = date.getTime();
  if (Number.isNaN(ms)) throw new RangeError('Invalid time value');
  return ms;
}

/** The column of each member. */
const members: { readonly [Name in keyof ToolMetric]: Member<ToolMetric[Name]> } = {
  metricId: ['uuid', '', (value) => value],
  toolName: text(),
  userId: text('anonymous'),
  sessionId: optionalText,
  requestId: optionalText,
  investigationId: optionalText,
  runId: optionalText,
  traceId: optionalText,
  parentSpanId: optionalText,
  status: text('success'),
  executionTimeMs: count,
  errorType: optionalText,
  errorMessage: optionalText,
  parametersHash: optionalText,
  inputSize: count,
  outputSize: count,
  metadata: ['jsonb', {}, storableJson],
  isTest: flag,
  toolFault: flag,
  recordedAt: ['float8', new Date(0), storableTime],
  semanticFailure: optionalText,
  kind: text('tool'),
};

const memberNames = Object.keys(members) as (keyof ToolMetric)[];
const defaults = Object.fromEntries(
  memberNames.map((name) => [name, members[name][1]]),
) as unknown as ToolMetric;

/** A new execution: successful, of zero length and now, unless `fields` has other values. */
export function newToolMetric(fields: Pick<ToolMetric, 'toolName'> & Partial<ToolMetric>): ToolMetric {
  const { recordedAt = new Date(), metricId = newId(fields.recordedAt?.getTime()) } = fields;
  return { ...defaults, ...fields, metricId, recordedAt };
}

function columnOf<Name extends keyof ToolMetric>(name: Name): Column<ToolMetric> {
  const [type, , stored] = members[name];
  return [type, (metric) => stored(metric[name])];
}

/** Converts metrics to arrays of columns. @throws Error if one cannot be stored: metadata that is no JSON, or an invalid date */
const metricColumns = new ColumnArrays<ToolMetric>(
  Object.fromEntries(memberNames.map((name) => [name, columnOf(name)])),
);
const { names } = metricColumns;
/** A select list that names the columns of a row like the members of its view. */
export const executionColumns = `${memberNames.map((member, at) => `${names[at]} AS "${member}"`).join()}, ${rowProject} AS project`;
const insertedValues = names.map((name) =>
  name === 'recorded_at' ? 'to_timestamp(recorded_at / 1000)' : name,
);
/** Number of the parameter with the writer's slot. */
const writerParameter = names.length + 1;

/** Inserts rows from arrays of columns. */
const insertRows = `
    INSERT INTO tool_metrics (${names.join(', ')})
    SELECT ${insertedValues.join(', ')}
    FROM (${metricColumns.select}) AS batch`;

/**
 * Parameters: one array per column, in the order of `metricColumns`, the writer's slot, and the ids of executions that count
 * for the caller `other`. A stored row stays as it is and is not counted again.
 */
const insertMetrics = rollUp(
  `${insertRows} ON CONFLICT (recorded_at, metric_id) DO NOTHING RETURNING ${countedColumns}`,
  `$${writerParameter}::int`,
  `$${writerParameter + 1}`,
);

/** Writer slot of metrics that are stored without a journal. Journals lease slots from 1 on. */
export const directSlot = 0;
/** Writer slot of executions that ran elsewhere, which do not count for circuits. */
export const externalSlot = -1;

/** A metric that cannot be converted for storage. */
class UnstorableMetric extends Error {
  override readonly name = 'UnstorableMetric';
}

/**
 * Stores metrics in one statement. Stored ids are ignored, so that a batch may be repeated.
 * @param writerSlot slot that no other writer uses at the same time
 * @param callers callers that were counted before
 * @throws UnstorableMetric, or the database's error; see `isRowFault`
 */
export async function insertBatch(
  db: Queryable,
  metrics: readonly ToolMetric[],
  writerSlot: number,
  callers = new CallerCap(),
): Promise<void> {
  if (metrics.length === 0) return;
  const parameters = parametersOf(metrics);
  /** Whether the execution counts for the caller `other`, because its own caller is beyond the cap. */
  const isOfOther = ({ toolName, userId, recordedAt, isTest }: ToolMetric): boolean =>
    !isTest && !callers.admit(toolName, userId, recordedAt.getTime());
  const others = arrayLiteral(metrics.filter(isOfOther).map(({ metricId }) => metricId));
  await db.query(insertMetrics, [...parameters, writerSlot, others]);
}

/** Whether the values of a row caused an error, so that a retry would fail again. */
export function isRowFault(error: unknown): boolean {
  return error instanceof UnstorableMetric || isValueFault(error);
}

/** @throws UnstorableMetric */
function parametersOf(metrics: readonly ToolMetric[]): string[] {
  try {
    return metricColumns.parametersOf(metrics);
  } catch (error) {
    throw new UnstorableMetric('The metric cannot be written down', { cause: error });
  }
}
