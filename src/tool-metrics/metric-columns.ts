import { storableJson, storableText } from '../common/pg-text.js';
import { type Column, ColumnArrays } from '../database/column-arrays.js';
import type { ToolMetric } from './tool-metric.entity.js';

const maxInteger = 2_147_483_647;
const wholeNumber = (value: number): number => Math.min(Math.max(Math.round(value), 0), maxInteger) || 0;
const optionalText = (text: string | null): string | null => (text === null ? null : storableText(text));
/** Milliseconds since 1970: written and read ten times as fast as an ISO text. */
function storableTime(date: Date): number {
  const time = date.getTime();
  if (Number.isNaN(time)) throw new RangeError('Invalid time value');
  return time;
}

const columns: Readonly<Record<keyof ToolMetric, Column<ToolMetric>>> = {
  metricId: ['uuid', (metric) => metric.metricId],
  toolName: ['text', (metric) => storableText(metric.toolName)],
  userId: ['text', (metric) => storableText(metric.userId)],
  sessionId: ['text', (metric) => optionalText(metric.sessionId)],
  requestId: ['text', (metric) => optionalText(metric.requestId)],
  investigationId: ['text', (metric) => optionalText(metric.investigationId)],
  runId: ['text', (metric) => optionalText(metric.runId)],
  traceId: ['text', (metric) => optionalText(metric.traceId)],
  parentSpanId: ['text', (metric) => optionalText(metric.parentSpanId)],
  status: ['text', (metric) => storableText(metric.status)],
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
export const metricColumns = new ColumnArrays(columns);
