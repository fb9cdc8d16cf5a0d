import type { ToolMetric } from './tool-metric.entity.js';

/** What the journal holds of an execution before its tool hears of it. An absent member is the column's null, 0 or false. */
export interface ExecutionStart
  extends
    Pick<ToolMetric, 'toolName' | 'userId' | 'metadata'>,
    Partial<
      Pick<
        ToolMetric,
        'sessionId' | 'requestId' | 'investigationId' | 'runId' | 'parametersHash' | 'inputSize' | 'isTest'
      >
    > {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** What the journal holds of its end. */
export type ExecutionEnd = Pick<ToolMetric, 'status' | 'executionTimeMs'> &
  Partial<Pick<ToolMetric, 'errorType' | 'errorMessage' | 'toolFault' | 'outputSize' | 'metadata'>>;

/** The gateway died while it ran: nobody knows how it ended, and it is no fault of the tool. */
const interrupted: ExecutionEnd = {
  status: 'error',
  executionTimeMs: 0,
  errorType: 'interrupted',
  errorMessage: 'The gateway ended before the call did',
};

/** The record of an execution; without an `end` it was interrupted. */
export const metricOf = (metricId: string, start: ExecutionStart, end = interrupted): ToolMetric => ({
  metricId,
  toolName: start.toolName,
  userId: start.userId,
  sessionId: start.sessionId ?? null,
  requestId: start.requestId ?? null,
  investigationId: start.investigationId ?? null,
  runId: start.runId ?? null,
  status: end.status,
  executionTimeMs: end.executionTimeMs,
  errorType: end.errorType ?? null,
  errorMessage: end.errorMessage ?? null,
  parametersHash: start.parametersHash ?? null,
  inputSize: start.inputSize ?? 0,
  outputSize: end.outputSize ?? 0,
  metadata: { ...start.metadata, ...end.metadata },
  isTest: start.isTest ?? false,
  toolFault: end.toolFault ?? false,
  recordedAt: new Date(start.startedAt),
});
