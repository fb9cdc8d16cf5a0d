import { newId } from '../../common/ids.js';
import type { ExecutedCall } from '../../tool-contract/call-events.js';
import type { OutcomeStatus } from '../../tool-contract/tool-outcome.js';
import type { ToolMetric } from './tool-metric.entity.js';

type Identity = Pick<ToolMetric, 'toolName' | 'userId' | 'metadata'>;
type Circumstances = Pick<
  ToolMetric,
  | 'sessionId'
  | 'requestId'
  | 'investigationId'
  | 'runId'
  | 'traceId'
  | 'parentSpanId'
  | 'parametersHash'
  | 'inputSize'
  | 'isTest'
>;

/**
 * The journal's record of an execution before its tool hears of it; `startedAt` in milliseconds since 1970. An absent
 * member is the column's null, 0 or false.
 */
export type ExecutionStart = Identity & Partial<Circumstances> & { readonly startedAt: number };

/** An execution's input and answer, without what its tool knows to be secret. */
export interface CapturedPayload {
  /** The input in one line. */
  readonly preview: string;
  readonly input?: unknown;
  readonly result?: unknown;
  /** As in the outcome. */
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

/** The gateway died while it ran: nobody knows how it ended, and it is no fault of the tool. */
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
