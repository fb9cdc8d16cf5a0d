import type { Attributes } from './attribute-lookup.js';
import { memberOf } from './attribute-lookup.js';
import { IncomingBatch, type IncomingSpan, RejectedSpan } from './incoming-span.js';

/**
 * The spans of a body of vLLora's shape: one, a list of them, or the envelope `{data: [...]}` that lists come in.
 * @throws SyntaxError for anything else; TooLarge
 */
export function spansOfVllora(body: unknown): IncomingBatch {
  const list =
    memberOf(body, 'data') ?? memberOf(body, 'spans') ?? (memberOf(body, 'span_id') ? [body] : body);
  if (!Array.isArray(list))
    throw new SyntaxError('The body must be a span, a list of spans, or {"data": [spans]}');
  const batch = new IncomingBatch();
  for (const span of list as unknown[]) batch.add(() => vlloraSpan(span));
  return batch;
}

function vlloraSpan(span: unknown): IncomingSpan {
  if (typeof span !== 'object' || span === null) throw new RejectedSpan('it is no object');
  const attributes = memberOf(span, 'attribute') ?? memberOf(span, 'attributes') ?? {};
  if (typeof attributes !== 'object' || Array.isArray(attributes))
    throw new RejectedSpan('its attribute is no object');
  return {
    traceId: textAt(span, 'trace_id') ?? '',
    spanId: textAt(span, 'span_id') ?? '',
    parentSpanId: textAt(span, 'parent_span_id'),
    threadId: textAt(span, 'thread_id'),
    runId: textAt(span, 'run_id'),
    name: textAt(span, 'operation_name') ?? '',
    startUs: Math.round(Number(memberOf(span, 'start_time_us') ?? NaN)),
    finishUs: Math.round(Number(memberOf(span, 'finish_time_us') ?? NaN)),
    attributes: attributes as Attributes,
  };
}

function textAt(owner: unknown, name: string): string | undefined {
  const value = memberOf(owner, name);
  return typeof value === 'number'
    ? String(value)
    : typeof value === 'string' && value !== ''
      ? value
      : undefined;
}
