import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify';
import { alteredNumber } from './exact-numbers.js';
import { invalidRequest, Problem } from '../common/errors.js';

/** A route that receives its body unparsed, so that a worker thread can parse it. */
export interface RawBody {
  readonly types: readonly string[];
  /** Bytes on the wire. */
  readonly limit: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    rawBody?: RawBody;
  }
  interface FastifyRequest {
    /** Media types that the route receives unparsed; undefined: it takes parsed JSON. */
    rawTypes: readonly string[] | undefined;
  }
}

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
    if (wants(request, 'application/json')) return done(null, body);
    // Many clients send a content type with an empty body.
    if (body.length === 0) return done(null);
    const { 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding.trim().toLowerCase() !== 'identity') return done(encodedBody(encoding));
    const text = body.toString();
    const altered = alteredNumber(text);
    if (altered) done(invalidRequest(altered));
    else if (body.length < minBytes) void parseJson(request, text, done);
    else
      void parseJson(request, text, (error, value) =>
        done(error ?? (hasManyNames(value) ? tooManyNames : null), value),
      );
  });
  fastify.addContentTypeParser([...furtherTypes], { parseAs: 'buffer' }, (request, body, done) => {
    const [type = ''] = (request.headers['content-type'] ?? '').split(';');
    if (wants(request, type.trim().toLowerCase())) done(null, body);
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

const maxNames = 10_000;
/** A member takes at least five bytes, so shorter bodies need no count. */
const minBytes = 5 * maxNames;
const tooManyNames = new Problem('invalid_request', `The body may have ${maxNames} different member names`);

/** V8 enumerates objects with many distinct names slowly. Rows with equal names are cheap. */
function hasManyNames(body: unknown): boolean {
  const names = new Set<string>();
  const open = [body];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const isList = Array.isArray(part);
    for (const name in part as object) {
      if (!isList && names.add(name).size > maxNames) return true;
      const member = (part as Record<string, unknown>)[name];
      if (typeof member === 'object' && member !== null) open.push(member);
    }
  }
  return false;
}

const encodedBody = (encoding: string): Problem =>
  new Problem(
    'invalid_request',
    `Content-Encoding ${JSON.stringify(encoding)} is not supported by this route: send the body as it is`,
    { status: 415 },
  );

const rawBodyIn = (config: unknown): RawBody | undefined =>
  typeof config === 'object' && config !== null && 'rawBody' in config
    ? (config.rawBody as RawBody)
    : undefined;

const wants = ({ rawTypes }: FastifyRequest, type: string): boolean => rawTypes?.includes(type) ?? false;
