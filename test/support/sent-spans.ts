import type { Queryable } from '../../src/base/database/column-arrays.js';
import { insertSpans, makeSpanDays } from '../../src/records/spans/ingest/span-sink.js';
import { normaliseSpan } from '../../src/records/spans/ingest/normalise-span.js';
import { spansInVllora } from '../../src/records/spans/ingest/vllora-spans.js';
import { startDayOf } from '../../src/records/spans/span-row.js';
import type { RawSpan } from './trace-oracle.js';

/** Writes spans as vLLora's clients send them by the way of ingest, without its journal. */
export async function writeSpans(db: Queryable, project: string, spans: readonly RawSpan[]): Promise<void> {
  const scope = { project, keyId: null, now: Date.now(), retentionDays: 30 };
  const rows = spansInVllora(spans).spans.map((read) => normaliseSpan(read(), scope));
  await makeSpanDays(db, new Set(rows.map(startDayOf)));
  await insertSpans(db, rows);
}
