import type { FastifyInstance, onSendHookHandler } from 'fastify';
import { gzip } from 'node:zlib';

/** Shorter answers fit into a few packets as they are. */
const minChars = 4_096;
const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i;

/** Compresses long answers of GET routes, in a thread of zlib. Calls of tools are POST: they get no hook. */
export function compressAnswers(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'GET') route.onSend = [...[route.onSend ?? []].flat(), compressed];
  });
}

/** Streams and buffers pass as they are. */
const compressed: onSendHookHandler = (request, reply, payload, done) => {
  if (typeof payload !== 'string' || payload.length < minChars) return done(null, payload);
  void reply.header('vary', 'accept-encoding');
  if (!acceptsGzip.test(String(request.headers['accept-encoding'] ?? ''))) return done(null, payload);
  void reply.header('content-encoding', 'gzip').removeHeader('content-length');
  gzip(payload, done);
};
