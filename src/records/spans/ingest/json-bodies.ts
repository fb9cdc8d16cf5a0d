import { type Attributes, memberOf } from './attribute-lookup.js';
import { IncomingBatch, type IncomingSpan, RejectedSpan } from './incoming-span.js';
import { incomingSpan, type Resource, resourceOf } from './otlp-span.js';

/**
 * The spans of an ExportTraceServiceRequest in JSON.
 * @throws SyntaxError for what is no such request, or holds none of its spans where the protocol has them; TooLarge
 */
export function spansInJson(body: unknown): IncomingBatch {
  const groups = memberOf(body, 'resourceSpans');
  if (groups !== undefined && !Array.isArray(groups)) throw new SyntaxError('resourceSpans must be a list');
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SyntaxError('The body must be an object with resourceSpans');
  const batch = new IncomingBatch();
  for (const group of membersOf(body, 'resourceSpans', batch)) {
    let shared: Resource | undefined;
    const resource = (): Resource => (shared ??= resourceOf(memberOf(group, 'resource'), batch));
    for (const scope of membersOf(group, 'scopeSpans', batch))
      for (const span of membersOf(scope, 'spans', batch)) batch.add(() => incomingSpan(span, resource()));
  }
  return batch.checked();
}

const beside = new Set(['resource', 'scope', 'schemaUrl']);

/** The list; where it is absent and something stands in its place, that is named. */
function membersOf(owner: unknown, name: string, batch: IncomingBatch): unknown[] {
  const list = memberOf(owner, name);
  if (Array.isArray(list)) return list as unknown[];
  const strange = typeof owner === 'object' && owner !== null ? Object.keys(owner) : ['no object'];
  const found = list === undefined ? strange.find((member) => !beside.has(member)) : name;
  if (found !== undefined)
    batch.remark(
      `Spans are in resourceSpans/scopeSpans/spans: "${found.slice(0, 64)}" stands where ${name} must be a list`,
    );
  return [];
}

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
