import { arrayLiteral, storableText } from '../common/pg-text.js';
import type { Queryable } from '../database/column-arrays.js';
import type { CapturedPayload } from './captured-payload.js';

/** A payload of the execution that began then, in milliseconds since 1970. */
export interface PayloadRow {
  readonly id: string;
  readonly startedAt: number;
  readonly payload: CapturedPayload;
}

const insert = `
  INSERT INTO execution_payloads (metric_id, recorded_at, preview, payload)
  SELECT metric_id, to_timestamp(at / 1000), preview, payload
  FROM unnest($1::uuid[], $2::float8[], $3::text[], $4::text[]) AS batch (metric_id, at, preview, payload)
  ON CONFLICT (metric_id) DO NOTHING`;

/** Ids that are there already change nothing, so that a batch may be repeated. */
export async function insertPayloads(db: Queryable, rows: readonly PayloadRow[]): Promise<void> {
  if (rows.length === 0) return;
  const columns = [
    rows.map(({ id }) => id),
    rows.map(({ startedAt }) => startedAt),
    rows.map(({ payload: { preview } }) => storableText(preview)),
    // JSON's own escapes: no text of a payload is refused.
    rows.map(({ payload: { preview: _apart, ...payload } }) => JSON.stringify(payload)),
  ];
  await db.query(insert, columns.map(arrayLiteral));
}
