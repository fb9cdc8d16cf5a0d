import { type Attributes, memberOf } from './attribute-lookup.js';
import { IncomingBatch, type IncomingSpan, RejectedSpan } from './incoming-span.js';

/** Reads vLLora's format: a span, a list, or the envelope `{data: [...]}`. @throws SyntaxError for any other body; TooLarge */
export function spansInVllora(body: unknown): IncomingBatch {
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
    traceId: textOrNumberAt(span, 'trace_id'),
    spanId: textOrNumberAt(span, 'span_id'),
    parentSpanId: textOrNumberAt(span, 'parent_span_id'),
    threadId: textOrNumberAt(span, 'thread_id'),
    runId: textOrNumberAt(span, 'run_id'),
    name: textOrNumberAt(span, 'operation_name'),
    startUs: Math.round(Number(memberOf(span, 'start_time_us') ?? NaN)),
    finishUs: Math.round(Number(memberOf(span, 'finish_time_us') ?? NaN)),
    attributes: attributes as Attributes,
  };
}

/** A member as text. Some senders have numbers as ids. @returns empty for any other value */
function textOrNumberAt(owner: unknown, name: string): string {
  const value = memberOf(owner, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
