import type { DataSource } from 'typeorm';
import { insertSpans, makeSpanDays } from '../../src/records/spans/ingest/span-sink.js';
import { type SpanRow, startDayOf } from '../../src/records/spans/span-row.js';

/** A row of the store: a chain's span of one second that ended a minute ago, but for what is given. */
export function spanRow(fields: Partial<SpanRow> = {}): SpanRow {
  const startUs = fields.startUs ?? (Date.now() - 61_000) * 1_000;
  return {
    project: 'default',
    traceId: 'trace-1',
    spanId: 'span-1',
    parentSpanId: null,
    threadId: null,
    runId: fields.traceId ?? 'trace-1',
    operation: 'run',
    kind: 'chain',
    callPart: null,
    startUs,
    finishUs: startUs + 1_000_000,
    status: 'success',
    errorMessage: null,
    model: null,
    requestModel: null,
    toolName: null,
    label: null,
    cost: null,
    costSource: null,
    inputTokens: null,
    outputTokens: null,
    cachedTokens: null,
    reasoningTokens: null,
    ttftUs: null,
    argumentsHash: null,
    toolCalls: null,
    toolErrors: null,
    keyId: null,
    clientId: null,
    executionId: null,
    semanticPattern: null,
    semanticSeverity: null,
    semanticSource: null,
    semanticSnippet: null,
    semanticCallId: null,
    attributes: '{}',
    ...fields,
  };
}

/** Puts rows into the store by the way that ingest takes. */
export async function storeSpans(db: DataSource, rows: readonly SpanRow[]): Promise<void> {
  await makeSpanDays(db, new Set(rows.map(startDayOf)));
  await insertSpans(db, rows);
}
