import type { ToolMetric } from '../tool-metric.entity.js';
import type { ExecutionEnd, ExecutionStart } from './journal-entry.js';

const nothing = {
  status: 'error',
  executionTimeMs: 0,
  errorType: null,
  errorMessage: null,
  outputSize: 0,
  toolFault: false,
} as const;

/** The record of an execution whose start and end are known. */
export function rowOf(start: ExecutionStart, end: Omit<ExecutionEnd, 'place' | 'endedAt'>): ToolMetric {
  return {
    metricId: start.metricId,
    toolName: start.toolName,
    userId: start.userId,
    sessionId: start.sessionId ?? null,
    requestId: start.requestId ?? null,
    investigationId: start.investigationId ?? null,
    runId: start.runId ?? null,
    status: end.status,
    executionTimeMs: end.executionTimeMs,
    errorType: end.errorType ?? nothing.errorType,
    errorMessage: end.errorMessage ?? nothing.errorMessage,
    parametersHash: start.parametersHash ?? null,
    inputSize: start.inputSize ?? 0,
    outputSize: end.outputSize ?? nothing.outputSize,
    metadata: end.metadata ? { ...start.metadata, ...end.metadata } : start.metadata,
    isTest: start.isTest ?? false,
    toolFault: end.toolFault ?? nothing.toolFault,
    recordedAt: new Date(start.startedAt),
  };
}

/** The gateway died while it ran: nobody knows how it ended, and it is no fault of the tool. */
export const interruptedRow = (start: ExecutionStart): ToolMetric =>
  rowOf(start, {
    ...nothing,
    metricId: start.metricId,
    errorType: 'interrupted',
    errorMessage: 'The gateway ended before the call did',
  });
