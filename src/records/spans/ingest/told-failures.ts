import { isSelfReported } from '../../../semantic-errors/self-reported.js';
import { spanTextsOf } from '../reads/span-contents.js';
import type { Attributes } from './attribute-lookup.js';
import type { SpanRow } from '../span-row.js';

/** A span's word that the execution which it names answered with the report of a failure. */
export interface ToldFailure {
  readonly executionId: string;
  /** The API key that sent the span. */
  readonly keyId: string;
  /** The piece of the answer that says so, without secrets. */
  readonly reason: string;
}

/** Nearly every span names no execution, or tells of nothing severe: only of the others the text is read once more. */
export function toldFailure(row: SpanRow): ToldFailure | undefined {
  const { executionId, keyId, kind, semanticSeverity: severity, semanticSnippet: reason } = row;
  if (executionId === null || keyId === null || reason === null) return undefined;
  if (kind !== 'tool' || severity !== 'high') return undefined;
  const { output } = spanTextsOf({ kind, attribute: JSON.parse(row.attributes) as Attributes });
  return isSelfReported(output, { severity }) ? { executionId, keyId, reason } : undefined;
}
