import type * as McpSdk from '@modelcontextprotocol/server';
import type {
  InboundClassificationOutcome,
  InboundLadderRejection,
  JSONRPCRequest,
} from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '../../base/common/json.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { modernRevision, unsupportedRevision } from '../../runtime/mcp-client/mcp-eras.js';
import {
  headerKeyword,
  memberInName,
  memberOf,
  type RepeatedMember,
} from '../../runtime/mcp-client/request-headers.js';

/** MCP's SDK, which is loaded late. */
export type Sdk = typeof McpSdk;

/** Determines the era of a message, or why it is invalid. */
export function classify(sdk: Sdk, { body, headers }: FastifyRequest): InboundClassificationOutcome {
  if (isPlainCall(body) && headers['mcp-protocol-version'] !== modernRevision)
    return { kind: 'legacy', reason: 'no-claim' };
  return sdk.classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...optionalMember('protocolVersionHeader', headers['mcp-protocol-version']),
    ...optionalMember('mcpMethodHeader', headers['mcp-method']),
    ...optionalMember('mcpNameHeader', headers['mcp-name']),
  });
}

/** Explains why a message is invalid, with the wrong member. */
export function explainRejection(sdk: Sdk, { cell, message }: InboundLadderRejection, body: unknown): string {
  if (cell !== 'invalid-json-rpc-body') return message;
  const { JSONRPCRequest, JSONRPCNotification } = sdk.specTypeSchemas;
  const isRequest = isObject(body) && 'id' in body;
  const checked = (isRequest ? JSONRPCRequest : JSONRPCNotification)['~standard'].validate(body);
  const issue = 'issues' in checked ? checked.issues?.[0] : undefined;
  const path = issue?.path?.map((each) => (typeof each === 'object' ? each.key : each)).map(String);
  return issue ? `${message}: ${path?.join('.') || 'body'}: ${issue.message}` : message;
}

/**
 * Whether a message is a call without `_meta`, as legacy clients send it. A shortcut, because the SDK tries three
 * schemas, which takes a tenth of the call.
 */
function isPlainCall(body: unknown): boolean {
  if (!isObject(body) || body['jsonrpc'] !== '2.0' || body['method'] !== 'tools/call') return false;
  const { id, params } = body;
  const hasId = typeof id === 'string' || Number.isInteger(id);
  return hasId && isObject(params) && params['_meta'] === undefined && !('result' in body || 'error' in body);
}

/** An object with one member, if the header was sent once. */
const optionalMember = (name: string, value: string | string[] | undefined): Record<string, string> =>
  typeof value === 'string' ? { [name]: value } : {};

/** A JSON-RPC error. */
interface HeaderError {
  readonly code: number;
  readonly message: string;
  readonly data?: object;
}

/** The error for a header that does not repeat the body, from 2026-07-28 on. */
export const headerMismatch = (header: string): HeaderError => ({
  code: -32020,
  message: `The header ${header} is missing or differs from the body`,
});

/** The error for an unsupported revision or a header that does not repeat the body. The SDK does not check them. */
export function headerError(
  sdk: Sdk,
  { headers, body }: FastifyRequest,
  isModern: boolean,
): HeaderError | undefined {
  const version = headers['mcp-protocol-version'];
  const versions = isModern ? [modernRevision] : sdk.SUPPORTED_PROTOCOL_VERSIONS;
  const { id, method, params } = body as Partial<JSONRPCRequest>;
  if (version !== undefined && !versions.includes(String(version))) {
    const supported = isModern ? versions : [modernRevision, ...versions];
    const message = `Unsupported protocol version: ${String(version)}`;
    return { code: unsupportedRevision, message, data: { supported, requested: version } };
  }
  if (!isModern || id === undefined) return undefined;
  if (version === undefined) return headerMismatch('MCP-Protocol-Version');
  if (headers['mcp-method'] !== method) return headerMismatch('Mcp-Method');
  const name = params?.[memberInName.get(method) ?? ''];
  if (typeof name === 'string' && plainHeader(headers['mcp-name']) !== name)
    return headerMismatch('Mcp-Name');
  return undefined;
}

/**
 * The text of a header. Texts with other characters than ASCII are sent in base64.
 * @returns undefined if there is no header, or its base64 is invalid
 */
function plainHeader(header: string | string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header.trim() : undefined;
  const encoded = /^=\?base64\?(.*)\?=$/.exec(text ?? '')?.[1];
  if (encoded === undefined) return text;
  const decoded = Buffer.from(encoded, 'base64');
  return decoded.toString('base64') === encoded ? decoded.toString() : undefined;
}

/** Beginning of the names of headers that repeat members of an input. */
const headerPrefix = 'Mcp-Param-';

/** Compares headers that repeat members of an input (since 2026-07-28) with the input. */
export class ParamHeaders {
  private readonly membersBySchema = new WeakMap<JsonSchema, readonly RepeatedMember[]>();

  /** @returns the first header that is missing or differs from its member; undefined if all are right */
  firstMismatch(schema: JsonSchema, input: object, headers: IncomingHttpHeaders): string | undefined {
    const members = this.membersBySchema.get(schema) ?? [...membersOf(schema, [])];
    this.membersBySchema.set(schema, members);
    const differing = members.find(({ path, header }) => {
      const value = path.reduce<unknown>(memberOf, input);
      const sent = plainHeader(headers[`${headerPrefix}${header}`.toLowerCase()]);
      return isScalar(value) && !isRepeated(sent, value);
    });
    return differing && `${headerPrefix}${differing.header}`;
  }
}

/** Members of a schema that have the keyword, at any depth of `properties`. Elsewhere the keyword has no effect. */
function* membersOf(schema: JsonSchema, path: readonly string[]): Generator<RepeatedMember> {
  const header = schema[headerKeyword];
  if (typeof header === 'string' && path.length > 0) yield { path, header };
  const { properties } = schema;
  if (!isObject(properties)) return;
  for (const [name, member] of Object.entries(properties))
    if (isObject(member)) yield* membersOf(member, [...path, name]);
}

const isScalar = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

/** Whether a header repeats a value; 42 and 42.0 are equal. */
const isRepeated = (header: string | undefined, value: string | number | boolean): boolean =>
  header === String(value) || (/^-?[\d.]+$/.test(header ?? '') && Number(header) === value);
