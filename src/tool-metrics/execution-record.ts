import type { ExecutedCall } from '../tool-contract/call-events.js';
import type { OutcomeStatus } from '../tool-contract/tool-outcome.js';
import type { CapturedPayload } from './captured-payload.js';
import { newToolMetric } from './new-tool-metric.js';
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

/** The journal's record of its end. */
export type ExecutionEnd = Pick<ToolMetric, 'executionTimeMs'> & {
  readonly status: OutcomeStatus;
  readonly errorType?: ExecutedCall['errorType'];
  /** Goes to a table of its own. */
  readonly payload?: CapturedPayload;
} & Partial<Pick<ToolMetric, 'errorMessage' | 'toolFault' | 'outputSize' | 'metadata'>>;

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
