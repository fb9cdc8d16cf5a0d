import { canonicalJson, sha256 } from '../../../base/common/canonical-json.js';
import { dayMs } from '../../../base/common/clock.js';
import { isUuid } from '../../../base/common/ids.js';
import { isDeeperThan } from '../../../base/common/json-depth.js';
import type { SpanKind, SpanRow } from '../span-row.js';
import { AttributeLookup, fromJson, memberOf } from './attribute-lookup.js';
import { type Field, kindNames, type KindOrPart } from './attribute-names.js';
import { failuresIn } from './failures.js';
import { type IncomingSpan, RejectedSpan } from './incoming-span.js';
import { costOf } from './model-prices.js';
import { argumentsOf, textsOf } from './span-texts.js';
import { cleanName, cleanText, storableAttributes } from './storable-json.js';

/** The owner of a batch's spans, and the time and retention that limit the times of stored spans. */
export interface IngestScope {
  readonly project: string;
  readonly keyId: string | null;
  readonly clientId?: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly retentionDays: number;
}

/** The kind of a span; and if it describes a model call, which part of it. */
type Classified = Pick<SpanRow, 'kind' | 'callPart'>;

/** How far in the future a span may be: an hour, because clocks differ. */
const maxAheadUs = 3_600_000_000;
/** Max characters of texts in columns. Longer ids are rejected, other texts are cut. */
const maxLength = { id: 64, name: 256, operation: 512, message: 4_096 };
/** Max levels of arguments that are hashed, and of an error that is stored as JSON. */
const maxJsonLevels = 64;

/** Derives the row of a span from its attributes, in any dialect. @throws RejectedSpan if the span is not stored */
export function normaliseSpan(span: IncomingSpan, scope: IngestScope): SpanRow {
  assertStorable(span, scope);
  const found = new AttributeLookup(span.attributes, span.fallback);
  const text = (field: Field): string | null => nameOf(found.text(field));
  const classified = classify(span.name, found);
  // The texts of a model call with two spans are read from the outer one only.
  const texts = textsOf(classified.callPart === 'inner' ? 'other' : classified.kind, found);
  const toolCalls = texts.toolCalls.map(({ name, arguments: given }) => ({
    name: cleanText(name),
    hash: argumentsHash(given),
  }));
  const traceId = cleanName(span.traceId, maxLength.id);
  return {
    project: scope.project,
    traceId,
    spanId: cleanName(span.spanId, maxLength.id),
    parentSpanId: span.parentSpanId ? cleanName(span.parentSpanId, maxLength.id) : null,
    threadId: nameOf(span.threadId) ?? text('thread'),
    runId: nameOf(span.runId) ?? text('run') ?? traceId,
    operation: cleanName(span.name, maxLength.operation),
    ...classified,
    startUs: span.startUs,
    // A span ends before it starts if its sender's clock was set back meanwhile.
    finishUs: Math.max(span.startUs, span.finishUs),
    ...statusOf(span, found),
    model: text('model'),
    requestModel: text('requested model') ?? text('model'),
    toolName: toolNameOf(span.name, classified, text('tool')),
    label: text('label'),
    ...figuresOf(found, classified),
    argumentsHash:
      classified.kind === 'tool' ? argumentsHash(argumentsOf(found.find("a tool's arguments"))) : null,
    toolCalls: toolCalls.length > 0 ? toolCalls : null,
    keyId: scope.keyId,
    clientId: scope.clientId ?? null,
    executionId: uuidOrNull(found.text('execution')),
    ...failuresIn(texts, found.text('label')),
    attributes: storableAttributes(span.attributes, span.leftOut),
  };
}

/** @throws RejectedSpan if the ids or times of a span are invalid, or its times are out of range */
function assertStorable(
  { traceId, spanId, startUs, finishUs }: IncomingSpan,
  { now, retentionDays }: IngestScope,
): void {
  if (!traceId || traceId.length > maxLength.id) throw new RejectedSpan('its trace id is missing or invalid');
  if (!spanId || spanId.length > maxLength.id) throw new RejectedSpan('its span id is missing or invalid');
  if (!Number.isSafeInteger(startUs) || !Number.isSafeInteger(finishUs) || startUs <= 0)
    throw new RejectedSpan('its start or end is missing or invalid');
  if (startUs > now * 1_000 + maxAheadUs || finishUs > now * 1_000 + maxAheadUs)
    throw new RejectedSpan('it is more than an hour in the future: check the clock of its sender');
  if (startUs < oldestKept(now, retentionDays) * 1_000)
    throw new RejectedSpan(`it started more than ${retentionDays} days ago (SPANS_RETENTION_DAYS)`);
}

/** The beginning of the first day (UTC) whose spans are stored, in milliseconds since the epoch. */
export const oldestKept = (now: number, retentionDays: number): number =>
  Math.floor((now - retentionDays * dayMs) / dayMs) * dayMs;

/** A name or id as a column stores it. */
const nameOf = (text: string | null | undefined): string | null =>
  text ? cleanName(text, maxLength.name) : null;

const uuidOrNull = (text: string | null): string | null =>
  text !== null && isUuid(text) ? text.toLowerCase() : null;

/** Names of attributes that hold a status: a text, an HTTP status, or a code of OTLP. */
const statusNames = ['status', 'status_code', 'otel.status_code', 'langfuse.observation.level'];

/** OTLP's status code of an error. */
const otlpError = 2;

const isErrorStatus = (status: unknown): boolean =>
  Number(status) >= 400 ||
  Number(status) === otlpError ||
  (typeof status === 'string' && /^((status_code_)?error|failed)$/i.test(status));

/** Values of an attribute `error` that mean "no error". */
const emptyErrors = new Set<unknown>([undefined, null, false, '', 'false', 'null']);
const isError = (error: unknown): boolean => !emptyErrors.has(error);

/** The status of a span by its own attributes, not by its events or resource. OTLP's "ok" outweighs an `error.type`. */
function statusOf(span: IncomingSpan, found: AttributeLookup): Pick<SpanRow, 'status' | 'errorMessage'> {
  const { error, 'error.type': type } = span.attributes;
  const reported = fromJson(error);
  const isReported = isError(reported);
  const hasFailed =
    span.status === 'error' ||
    isReported ||
    statusNames.some((name) => isErrorStatus(span.attributes[name])) ||
    (span.status === undefined && typeof type === 'string' && isError(type));
  if (!hasFailed) return { status: 'success', errorMessage: null };
  const hasDescription = isReported && reported !== true && reported !== 'true';
  const description = hasDescription ? reported : (span.failure ?? found.find('error') ?? null);
  return { status: 'error', errorMessage: errorText(description) };
}

/** The message of an error; without one, the error as text or JSON. */
function errorText(error: unknown): string | null {
  if (error === null || typeof error === 'boolean') return null;
  const text = memberOf(error, 'message') ?? error;
  if (typeof text === 'string') return cleanName(text, maxLength.message);
  return isDeeperThan(text, maxJsonLevels) ? null : cleanName(JSON.stringify(text), maxLength.message);
}

type Figures = Pick<
  SpanRow,
  'cost' | 'costSource' | 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'reasoningTokens' | 'ttftUs'
>;

/** Cost, tokens and time to first token. The cost is the reported one, else it is computed from the tokens. */
function figuresOf(found: AttributeLookup, { callPart }: Classified): Figures {
  const cachedTokens = count(found.find('cached tokens'));
  const cacheWriteTokens = count(found.find('tokens written to the cache'));
  const fromCache = (cachedTokens ?? 0) + (cacheWriteTokens ?? 0);
  const outputTokens = count(found.find('output tokens'));
  const usage = {
    inputTokens: inputTokensOf(found, fromCache, outputTokens ?? 0),
    outputTokens,
    cachedTokens,
    reasoningTokens: count(found.find('reasoning tokens')),
  };
  const ttftUs = ttftUsOf(found);
  // The outer span of the call has the cost.
  if (callPart === 'inner') return { cost: null, costSource: null, ...usage, ttftUs };
  const reported = amount(found.find('cost'));
  if (reported !== null) return { cost: reported, costSource: 'reported', ...usage, ttftUs };
  const cost = costOf(nameOf(found.text('model')), { ...usage, cacheWriteTokens });
  return { cost, costSource: cost === null ? null : 'computed', ...usage, ttftUs };
}

/**
 * All input tokens, cached ones included. Anthropic's usage counts cached tokens apart from the input, others within. They
 * are counted apart if there are more of them than of input tokens, or if the reported total is only reached with them.
 */
function inputTokensOf(found: AttributeLookup, fromCache: number, output: number): number | null {
  const input = count(found.find('input tokens'));
  const uncached = count(found.find('input tokens without those of the cache'));
  if (input === null) return uncached === null ? null : uncached + fromCache;
  const isSeparate = fromCache > input || count(found.find('total tokens')) === input + output + fromCache;
  return isSeparate ? input + fromCache : input;
}

/** Limit of costs and counts; larger numbers are errors of the sender. */
const maxAmount = 1e12;

/** Reads a number, or its text, which may begin with a dollar sign. @returns null if it is no number from 0 to `maxAmount` */
function amount(value: unknown): number | null {
  const text = typeof value === 'string' ? value.trim().replace(/^\$/, '') : value;
  if (text === '' || (typeof text !== 'string' && typeof text !== 'number')) return null;
  const number = Number(text);
  return Number.isFinite(number) && number >= 0 && number < maxAmount ? number : null;
}

/** Reads a whole number. */
const count = (value: unknown): number | null => {
  const number = amount(value);
  return number === null ? null : Math.round(number);
};

/** Time to first token in microseconds. */
function ttftUsOf(found: AttributeLookup): number | null {
  const given = amount(found.find('time to first token, milliseconds (over a million: microseconds)'));
  if (given !== null) return Math.round(given > 1_000_000 ? given : given * 1_000);
  const seconds = amount(found.find('time to first token, seconds'));
  return seconds === null ? null : Math.round(seconds * 1_000_000);
}

/** Hash of arguments, equal to the `parametersHash` of an execution with the same input. @returns null without arguments */
function argumentsHash(given: unknown): string | null {
  const value = fromJson(given);
  if (value === undefined || value === null || value === '' || isDeeperThan(value, maxJsonLevels))
    return null;
  const json = canonicalJson(value);
  return json === '{}' || json === '[]' ? null : sha256(json);
}

/** Key of the kinds by operation name, which stands among the attributes in `kindNames`. */
const byName = "the span's name";

/** For each attribute that tells the kind: the kind by the attribute's value. */
const kinds = new Map(
  Object.entries<Readonly<Record<string, string>>>(kindNames).map(([attribute, byKind]) => {
    const all = Object.entries(byKind) as [KindOrPart, string][];
    return [
      attribute,
      new Map(all.flatMap(([kind, values]) => values.split(' ').map((value) => [value, kind]))),
    ];
  }),
);

/** The kind by the first attribute with a known value, the operation's name being the last one. */
function classify(operation: string, attributes: AttributeLookup): Classified {
  for (const [attribute, byValue] of kinds) {
    const value = attribute === byName ? operation : attributes.named(attribute);
    if (typeof value !== 'string') continue;
    // Some senders write values in other letter case, or in quotes. Operations' names are compared as they are.
    const plain = attribute === byName ? value : value.toLowerCase().replace(/^"|"$/g, '');
    const kind = byValue.get(value) ?? byValue.get(plain);
    if (kind) return classifiedAs(kind);
  }
  return classifiedAs(guessKind(attributes));
}

/** The tool's name in the attributes; else the operation's name, unless it is the general name of a tool's span. */
function toolNameOf(operation: string, { kind }: Classified, name: string | null): string | null {
  if (kind !== 'tool') return null;
  return name ?? (kinds.get(byName)?.has(operation) ? null : nameOf(operation));
}

/** The kind of a span without a known value: a span with a model and output tokens describes a model call. */
const guessKind = (attributes: AttributeLookup): SpanKind =>
  attributes.find('output tokens') !== undefined && attributes.find('model') !== undefined ? 'llm' : 'other';

/** The kind and part for an entry of `kindNames`. */
function classifiedAs(kindOrPart: KindOrPart): Classified {
  if (kindOrPart === 'outer' || kindOrPart === 'inner') return { kind: 'llm', callPart: kindOrPart };
  return { kind: kindOrPart, callPart: kindOrPart === 'llm' ? 'whole' : null };
}
