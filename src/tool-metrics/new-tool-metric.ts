import { newId } from '../common/ids.js';
import type { ToolMetric } from './tool-metric.entity.js';

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
