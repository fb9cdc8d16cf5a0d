import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify';
import { type FieldProblem, invalidRequest, Problem } from '../../base/common/errors.js';
import { escapePointer } from '../../base/common/field-problems.js';
import { alwaysFits, excessOfCaller, excessOfNames } from '../../base/common/json-size.js';

/** A route that receives its body unparsed, so that a worker thread can parse it. */
interface RawBody {
  readonly types: readonly string[];
  /** Max bytes of the body as sent, before decompression. */
  readonly limit: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    rawBody?: RawBody;
  }
  interface FastifyRequest {
    /** Media types that the route receives unparsed; undefined if it receives parsed JSON. */
    rawTypes: readonly string[] | undefined;
  }
}

/** The unparsed body of a request; empty if it has none. */
export const rawBodyOf = ({ body }: FastifyRequest): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.alloc(0);

/** Registers the body parsers: JSON for all routes, unparsed JSON and further types for routes with `rawBody`. */
export function acceptBodies(fastify: FastifyInstance, furtherTypes: readonly string[]): void {
  fastify.decorateRequest('rawTypes', undefined);
  fastify.addHook('onRoute', (route) => {
    const raw = rawBodyIn(route.config);
    if (!raw) return;
    route.bodyLimit = raw.limit;
    const before = route.preParsing ?? [];
    const setTypes: preParsingHookHandler = (request, _reply, _payload, done) => {
      request.rawTypes = raw.types;
      done();
    };
    route.preParsing = [before, setTypes].flat();
  });
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  fastify.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (request.rawTypes?.includes('application/json')) return done(null, body);
    // Many clients send a content type with an empty body.
    if (body.length === 0) return done(null);
    const { 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding.trim().toLowerCase() !== 'identity') return done(encodedBody(encoding));
    const text = body.toString();
    const isSmall = body.length < alwaysFits;
    const excess = isSmall ? undefined : excessOfCaller(text);
    if (excess !== undefined) return done(tooMuch(excess));
    const altered = alteredNumber(text);
    if (altered) return done(invalidRequest(altered));
    if (isSmall) return void parseJson(request, text, done);
    void parseJson(request, text, (error, value) => {
      const names = error ? undefined : excessOfNames(value);
      done(names === undefined ? error : tooMuch(names), value);
    });
  });
  fastify.addContentTypeParser([...furtherTypes], { parseAs: 'buffer' }, (request, body, done) => {
    const [type = ''] = (request.headers['content-type'] ?? '').split(';');
    if (request.rawTypes?.includes(type.trim().toLowerCase())) done(null, body);
    else refuseType(request, done);
  });
  fastify.addContentTypeParser('*', (request, _payload, done) => refuseType(request, done));
}

/** Rejects a body of an unsupported type. The content type of a request without a body is ignored. */
export function refuseType(
  { headers }: Pick<FastifyRequest, 'headers'>,
  done: (error: Error | null) => void,
): void {
  const length = headers['content-length'] ?? '0';
  const isEmpty = length === '0' && headers['transfer-encoding'] === undefined;
  done(isEmpty ? null : new Problem('invalid_request', 'This route takes JSON', { status: 415 }));
}

/** The problem of a body that exceeds a limit. */
const tooMuch = (excess: string): Problem => new Problem('invalid_request', `The body ${excess}`);

function encodedBody(encoding: string): Problem {
  const detail = `Content-Encoding ${JSON.stringify(encoding)} is not supported by this route: send the body as it is`;
  return new Problem('invalid_request', detail, { status: 415 });
}

/** The option `rawBody` of a route. */
const rawBodyIn = (config: unknown): RawBody | undefined =>
  (config as { readonly rawBody?: RawBody } | undefined)?.rawBody;

/** Matches a JSON text that may have a number beyond a double: with 16 digits in a row, or a large exponent. Most have neither. */
const suspicious = /\d{16}|\d[eE]\+?\d{3}/;
/**
 * Matches strings, in order to skip their digits, and numbers that a double may not represent. The alternatives cannot
 * overlap, so that any text is scanned once.
 */
const tokens =
  /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|(?<![\d.eE+-])-?(?:\d{16,}(?![\d.eE])|\d+(?:\.\d+)?[eE]\+?\d{3,})/g;

/**
 * The first number of a JSON text that `JSON.parse` would change: an integer beyond 2^53 or a number beyond the range of
 * a double. Rounding of decimal places is not reported, because all parsers do it.
 * @param json may be malformed; `JSON.parse` will reject it
 */
export function alteredNumber(json: string): FieldProblem | undefined {
  if (!suspicious.test(json)) return undefined;
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (token.startsWith('"')) continue;
    const isWhole = !/[eE]/.test(token);
    if (isWhole ? String(Number(token)) === token : Number.isFinite(Number(token))) continue;
    const detail = isWhole
      ? 'is a whole number beyond 2^53: send it as text'
      : 'is a number beyond 1.8e308: send it as text';
    return { pointer: pointerTo(json, index, token.length), detail };
  }
  return undefined;
}

/** The JSON pointer to a number in a text, found by parsing the text with a marker in its place. */
function pointerTo(json: string, at: number, length: number): string {
  const marker = `number ${at}`;
  try {
    const marked = `${json.slice(0, at)}${JSON.stringify({ [marker]: marker })}${json.slice(at + length)}`;
    return pathOf(JSON.parse(marked), marker) ?? '';
  } catch {
    return '';
  }
}

/** The JSON pointer to the marker in a value. */
function pathOf(value: unknown, marker: string): string | undefined {
  const open: [value: unknown, path: string][] = [[value, '']];
  for (let next = open.pop(); next; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== 'object' || part === null) continue;
    if ((part as Record<string, unknown>)[marker] === marker) return path;
    for (const [name, member] of Object.entries(part)) open.push([member, `${path}/${escapePointer(name)}`]);
  }
  return undefined;
}
