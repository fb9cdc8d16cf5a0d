import { memberOf } from './attribute-lookup.js';
import { IncomingBatch } from './incoming-span.js';
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
