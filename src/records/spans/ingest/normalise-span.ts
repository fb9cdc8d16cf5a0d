import { canonicalJson, sha256 } from '../../../base/common/canonical-json.js';
import { dayMs } from '../../../base/common/clock.js';
import { isUuid } from '../../../base/common/ids.js';
import { isDeeperThan } from '../../../base/common/json-depth.js';
import type { SpanKind, SpanRow, ToolCalled } from '../span-row.js';
import { AttributeLookup, fromJson, memberOf } from './attribute-lookup.js';
import { type Field, kindNames, type KindOrPart } from './attribute-names.js';
import { failuresIn } from './failures.js';
import { type IncomingSpan, RejectedSpan } from './incoming-span.js';
import { costOf } from './model-prices.js';
import type { AskedTool } from './message-parts.js';
import { argumentsOf, textsOf } from './span-texts.js';
import { cleanName, cleanText, storableAttributes } from './storable-json.js';

/** The owner of a batch's spans, and the times between which they are stored. */
export interface IngestScope {
  readonly project: string;
  readonly keyId: string | null;
  readonly clientId?: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly retentionDays: number;
}

const hourUs = 3_600_000_000;
const longest = { id: 64, name: 256, operation: 512, message: 4_096 };
const deepestArguments = 64;

/**
 * The row of a span, derived once.
 * @throws RejectedSpan that says why it is not stored
 */
export function normaliseSpan(span: IncomingSpan, scope: IngestScope): SpanRow {
  refuse(span, scope);
  const found = new AttributeLookup(span.attributes, span.further);
  const text = (field: Field): string | null => named(found.text(field));
  const classified = classify(span.name, found);
  const texts = textsOf(classified.callPart === 'inner' ? 'other' : classified.kind, found);
  const traceId = cleanName(span.traceId, longest.id);
  return {
    project: scope.project,
    traceId,
    spanId: cleanName(span.spanId, longest.id),
    parentSpanId: span.parentSpanId ? cleanName(span.parentSpanId, longest.id) : null,
    threadId: named(span.threadId) ?? text('thread'),
    runId: named(span.runId) ?? text('run') ?? traceId,
    operation: cleanName(span.name, longest.operation),
    ...classified,
    startUs: span.startUs,
    // Clocks that are set back meanwhile make spans that end before they start.
    finishUs: Math.max(span.startUs, span.finishUs),
    ...statusOf(span, found),
    model: text('model'),
    requestModel: text('requested model') ?? text('model'),
    toolName: toolNameOf(span.name, classified, text('tool')),
    label: text('label'),
    ...figuresOf(found, classified),
    argumentsHash:
      classified.kind === 'tool' ? argumentsHash(argumentsOf(found.find("a tool's arguments"))) : null,
    toolCalls: texts.toolCalls.length > 0 ? texts.toolCalls.map(askedTool) : null,
    keyId: scope.keyId,
    clientId: scope.clientId ?? null,
    executionId: executionId(found.text('execution')),
    ...failuresIn(texts, found.text('label')),
    attributes: storableAttributes(span.attributes, span.leftOut),
  };
}

function refuse(
  { traceId, spanId, startUs, finishUs }: IncomingSpan,
  { now, retentionDays }: IngestScope,
): void {
  if (!traceId || traceId.length > longest.id) throw new RejectedSpan('its trace id is missing or no id');
  if (!spanId || spanId.length > longest.id) throw new RejectedSpan('its span id is missing or no id');
  if (!Number.isSafeInteger(startUs) || !Number.isSafeInteger(finishUs) || startUs <= 0)
    throw new RejectedSpan('its start or its end is missing or no time');
  if (startUs > now * 1_000 + hourUs || finishUs > now * 1_000 + hourUs)
    throw new RejectedSpan('it lies more than an hour ahead: look at the clock of its sender');
  if (startUs < oldestKept(now, retentionDays) * 1_000)
    throw new RejectedSpan(`it started more than ${retentionDays} days ago (SPANS_RETENTION_DAYS)`);
}

/** The beginning of the first day (UTC) that is stored, milliseconds since the epoch. */
export const oldestKept = (now: number, retentionDays: number): number =>
  Math.floor((now - retentionDays * dayMs) / dayMs) * dayMs;

const named = (text: string | null | undefined): string | null =>
  text ? cleanName(text, longest.name) : null;

const executionId = (text: string | null): string | null =>
  text !== null && isUuid(text) ? text.toLowerCase() : null;

/** Attributes with a status as text or as an HTTP status. */
const statusNames = ['status', 'status_code', 'otel.status_code', 'langfuse.observation.level'];

const tellsOfError = (status: unknown): boolean =>
  Number(status) >= 400 ||
  Number(status) === 2 ||
  (typeof status === 'string' && /^((status_code_)?error|failed)$/i.test(status));

const noErrors = new Set<unknown>([undefined, null, false, '', 'false', 'null']);
const isSaid = (error: unknown): boolean => !noErrors.has(error);

/**
 * An `error` of "", false or null does not count, and OTLP's status "ok" outweighs an `error.type`. What an event or the resource
 * says is no status of the span.
 */
function statusOf(span: IncomingSpan, found: AttributeLookup): Pick<SpanRow, 'status' | 'errorMessage'> {
  const { error, 'error.type': type } = span.attributes;
  const own = fromJson(error);
  const said = isSaid(own);
  const failed =
    span.status === 'error' ||
    said ||
    statusNames.some((name) => tellsOfError(span.attributes[name])) ||
    (span.status === undefined && typeof type === 'string' && isSaid(type));
  if (!failed) return { status: 'success', errorMessage: null };
  const described =
    said && own !== true && own !== 'true' ? own : (span.failure ?? found.find('error') ?? null);
  return { status: 'error', errorMessage: messageOf(described) };
}

function messageOf(error: unknown): string | null {
  if (error === null || typeof error === 'boolean') return null;
  const text = memberOf(error, 'message') ?? error;
  if (typeof text === 'string') return cleanName(text, longest.message);
  return isDeeperThan(text, deepestArguments) ? null : cleanName(JSON.stringify(text), longest.message);
}

type Figures = Pick<
  SpanRow,
  'cost' | 'costSource' | 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'reasoningTokens' | 'ttftUs'
>;

function figuresOf(found: AttributeLookup, { callPart }: Classified): Figures {
  const cachedTokens = count(found.find('cached tokens'));
  const cacheWriteTokens = count(found.find('tokens written to the cache'));
  const fromCache = (cachedTokens ?? 0) + (cacheWriteTokens ?? 0);
  const outputTokens = count(found.find('output tokens'));
  const usage = {
    inputTokens: inputTokens(found, fromCache, outputTokens ?? 0),
    outputTokens,
    cachedTokens,
    reasoningTokens: count(found.find('reasoning tokens')),
  };
  const ttftUs = ttft(found);
  // Its cost is that of the outer one.
  if (callPart === 'inner') return { cost: null, costSource: null, ...usage, ttftUs };
  const reported = amount(found.find('cost'));
  const cost = reported ?? costOf(named(found.text('model')), { ...usage, cacheWriteTokens });
  const costSource = cost === null ? null : reported === null ? 'computed' : 'reported';
  return { cost, costSource, ...usage, ttftUs };
}

/** Anthropic's usage counts cached tokens separately, as the total or their number shows; others include them. */
function inputTokens(found: AttributeLookup, fromCache: number, output: number): number | null {
  const input = count(found.find('input tokens'));
  const fresh = count(found.find('input tokens without those of the cache'));
  if (input === null) return fresh === null ? null : fresh + fromCache;
  const isSeparate = fromCache > input || count(found.find('total tokens')) === input + output + fromCache;
  return isSeparate ? input + fromCache : input;
}

/** A number, or its text, which may stand behind a dollar sign. @returns null if it is no number, or less than 0 */
function amount(value: unknown): number | null {
  const text = typeof value === 'string' ? value.trim().replace(/^\$/, '') : value;
  if (text === '' || (typeof text !== 'string' && typeof text !== 'number')) return null;
  const number = Number(text);
  return Number.isFinite(number) && number >= 0 && number < 1e12 ? number : null;
}

const count = (value: unknown): number | null => {
  const number = amount(value);
  return number === null ? null : Math.round(number);
};

function ttft(found: AttributeLookup): number | null {
  const given = amount(found.find('time to first token, milliseconds (over a million: microseconds)'));
  if (given !== null) return Math.round(given > 1_000_000 ? given : given * 1_000);
  const seconds = amount(found.find('time to first token, seconds'));
  return seconds === null ? null : Math.round(seconds * 1_000_000);
}

const askedTool = ({ name, arguments: given }: AskedTool): ToolCalled => ({
  name: cleanText(name),
  hash: argumentsHash(given),
});

/** Equal to the hash that an execution of ours has for the same arguments. */
function argumentsHash(given: unknown): string | null {
  const value = fromJson(given);
  if (value === undefined || value === null || value === '' || isDeeperThan(value, deepestArguments))
    return null;
  const json = canonicalJson(value);
  return json === '{}' || json === '[]' ? null : sha256(json);
}

/** The kind of a span, and of a model call which part it is. */
type Classified = Pick<SpanRow, 'kind' | 'callPart'>;

const byName = "the span's name";

/** The kinds by attribute and its value. */
const kinds = new Map(
  Object.entries<Readonly<Record<string, string>>>(kindNames).map(([attribute, byKind]) => {
    const all = Object.entries(byKind) as [KindOrPart, string][];
    return [
      attribute,
      new Map(all.flatMap(([kind, values]) => values.split(' ').map((value) => [value, kind]))),
    ];
  }),
);

function classify(operation: string, attributes: AttributeLookup): Classified {
  for (const [attribute, byValue] of kinds) {
    const value = attribute === byName ? operation : attributes.named(attribute);
    if (typeof value !== 'string') continue;
    const loose = attribute === byName ? value : value.toLowerCase().replace(/^"|"$/g, '');
    const kind = byValue.get(value) ?? byValue.get(loose);
    if (kind) return classified(kind);
  }
  return classified(guess(attributes));
}

/** The span's own name, where a library marks its span as that of a tool and gives no other. */
function toolNameOf(operation: string, { kind }: Classified, name: string | null): string | null {
  if (kind !== 'tool') return null;
  return name ?? (kinds.get(byName)?.has(operation) ? null : named(operation));
}

/** A span that names a model and the tokens that it took is a call of it. */
function guess(attributes: AttributeLookup): SpanKind {
  if (attributes.find('output tokens') === undefined) return 'other';
  return attributes.find('model') === undefined ? 'other' : 'llm';
}

function classified(found: KindOrPart): Classified {
  if (found === 'outer' || found === 'inner') return { kind: 'llm', callPart: found };
  return { kind: found, callPart: found === 'llm' ? 'whole' : null };
}
