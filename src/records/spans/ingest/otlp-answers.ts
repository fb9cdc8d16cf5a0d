import type { FastifyRequest } from 'fastify';
import protobuf from 'protobufjs/minimal.js';
import { errorTable } from '../../../common/errors.js';
import { asProblem, type OwnErrorBody } from '../../../rest/problem.filter.js';

export const protobufType = 'application/x-protobuf';
const jsonType = 'application/json';

/** A request in protobuf is answered in protobuf, one in JSON in JSON. */
export const isProtobuf = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  (headers['content-type'] ?? '').trim().toLowerCase().startsWith(protobufType);

/** Codes of google.rpc.Status by HTTP status. */
const rpcCodes: Readonly<Record<number, number>> = { 401: 16, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14 };
const invalidArgument = 3;

/** google.rpc.Status, as OTLP wants errors told. */
export function otlpError(exception: unknown, request: FastifyRequest): OwnErrorBody {
  const { code: name, detail, details } = asProblem(exception);
  const code = rpcCodes[details.status ?? errorTable[name].http] ?? invalidArgument;
  const message = `${name}: ${detail}`;
  if (!isProtobuf(request)) return { type: jsonType, body: Buffer.from(JSON.stringify({ code, message })) };
  const writer = protobuf.Writer.create().uint32(8).int32(code).uint32(18).string(message);
  return { type: protobufType, body: Buffer.from(writer.finish()) };
}

/** ExportTraceServiceResponse: empty where every span was taken; a reason without rejected spans is a warning. */
export function otlpAnswer(
  request: Pick<FastifyRequest, 'headers'>,
  { rejected, reason = '' }: { readonly rejected: number; readonly reason?: string },
): OwnErrorBody {
  const isWhole = rejected === 0 && reason === '';
  const partial = { rejectedSpans: String(rejected), errorMessage: reason };
  if (!isProtobuf(request)) {
    return { type: jsonType, body: JSON.stringify(isWhole ? {} : { partialSuccess: partial }) };
  }
  const writer = protobuf.Writer.create();
  if (!isWhole) {
    const inner = protobuf.Writer.create().uint32(8).int64(rejected).uint32(18).string(reason);
    writer.uint32(10).bytes(inner.finish());
  }
  return { type: protobufType, body: Buffer.from(writer.finish()) };
}
