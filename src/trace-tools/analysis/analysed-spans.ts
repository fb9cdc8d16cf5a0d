import type { DataSource } from 'typeorm';
import { AttributeLookup, type Attributes, fromJson } from '../../traces/ingest/attribute-lookup.js';
import type { Field } from '../../traces/ingest/attribute-names.js';
import type { AnalysedSpan } from './analysis.types.js';

interface Row extends Omit<AnalysedSpan, 'input' | 'output'> {
  readonly attributes: Attributes | null;
}

/** An id that occurs in several traces is each of those spans. */
const mostOfOneId = 5;

const byId = `
  SELECT span_id, trace_id, thread_id, operation, kind, status, error_message AS error, model, tool_name, key_id,
         execution_id, start_us::float8 AS start_us, ((finish_us - start_us) / 1000)::float8 AS duration_ms,
         (SELECT attributes FROM all_span_contents AS contents
          WHERE contents.project = span.project AND contents.trace_id = span.trace_id
            AND contents.span_id = span.span_id AND contents.start_day = span.start_day LIMIT 1) AS attributes
  FROM all_spans AS span
  WHERE project = $1 AND span_id = ANY ($2::text[])
  ORDER BY start_us, span_id, trace_id
  LIMIT $3`;

/** Spans of one project by their ids, with what they took in and gave out; those that are not there are left out. */
export async function analysedSpans(
  db: DataSource,
  project: string,
  ids: readonly string[],
): Promise<AnalysedSpan[]> {
  const rows = await db.query<Row[]>(byId, [project, ids, ids.length * mostOfOneId]);
  return rows.map(({ attributes, ...span }) => ({ ...span, ...contentsOf(span.kind, attributes ?? {}) }));
}

const model: readonly [input: readonly Field[], output: readonly Field[]] = [
  ["a model's messages"],
  ["a model's answer", "a model's tool calls"],
];
const tool: typeof model = [["a tool's arguments"], ["a tool's result"]];

/** Where no field of its dialect holds them, its attributes say what there is. */
function contentsOf(kind: string, attributes: Attributes): Pick<AnalysedSpan, 'input' | 'output'> {
  const lookup = new AttributeLookup([attributes]);
  const text = (fields: readonly Field[]): string =>
    fields
      .map((field) => fromJson(lookup.find(field)))
      .filter((value) => value !== undefined)
      .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
      .join('\n');
  const [input, output] = kind === 'tool' ? tool : model;
  const found = { input: text(input), output: text(output) };
  return found.input + found.output === '' ? { input: '', output: JSON.stringify(attributes) } : found;
}
