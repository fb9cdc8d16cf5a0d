import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Problem, ProblemCode } from '../common/errors.js';
import { isObject, type JsonObject } from '../common/json.js';
import { problemBody } from '../common/problem.filter.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { type ReadableAnswer, readableOutcome, readableProblem, textOf } from '../tools/readable-answer.js';

/** Refusals that say nothing about the call itself: the client has to mend them, not the model. */
const protocolErrors: ReadonlySet<ProblemCode> = new Set([
  'tool_not_found',
  'unauthorized',
  'forbidden',
  'invalid_request',
  'internal_error',
]);
const areTexts = (...values: unknown[]): boolean => values.every((value) => typeof value === 'string');
/** The members that a client insists on in each kind of content. */
const blocks = new Map<unknown, (block: JsonObject) => boolean>([
  ['text', ({ text }) => areTexts(text)],
  ['image', ({ data, mimeType }) => areTexts(data, mimeType)],
  ['audio', ({ data, mimeType }) => areTexts(data, mimeType)],
  [
    'resource',
    ({ resource }) => isObject(resource) && areTexts(resource['uri'], resource['text'] ?? resource['blob']),
  ],
  ['resource_link', ({ uri, name }) => areTexts(uri, name)],
]);

/** Whether a model should read the refusal, in place of a result; the others are errors of JSON-RPC. */
export const isForTheModel = ({ code }: Problem): boolean => !protocolErrors.has(code);

/** What came of a call, as MCP has it. The outcome without its result stands in `_meta`. */
export function toolResultOf(outcome: ToolOutcome): CallToolResult {
  const { result: _result, ...about } = outcome;
  return { ...contentOf(readableOutcome(outcome)), _meta: { 'toolkeeper/outcome': about } };
}

/** A call that was not run, for the model to read. */
export const refusedResult = (problem: Problem, requestId: string): CallToolResult => ({
  ...contentOf(readableProblem(problem)),
  _meta: { 'toolkeeper/problem': problemBody(problem, requestId) },
});

/** An object is given as structured content, too; what has the form of MCP's own results is handed on as it is. */
function contentOf({ failed, value }: ReadableAnswer): CallToolResult {
  if (!failed && isMcpResult(value)) return withText(value);
  return {
    content: [{ type: 'text', text: textOf(value) }],
    ...(isObject(value) && { structuredContent: value }),
    ...(failed && { isError: true }),
  };
}

function isMcpResult(result: unknown): result is Partial<CallToolResult> {
  if (!isObject(result)) return false;
  const { structuredContent, content = [] } = result;
  if (!Array.isArray(content) || !content.every(isBlock)) return false;
  return structuredContent === undefined ? content.length > 0 : isObject(structuredContent);
}

/** A model reads text: a server may give structured content alone. */
function withText(result: Partial<CallToolResult>): CallToolResult {
  const { content = [], structuredContent } = result;
  if (content.length > 0) return { ...result, content };
  return { ...result, content: [{ type: 'text', text: textOf(structuredContent) }] };
}

const isBlock = (block: unknown): boolean => isObject(block) && (blocks.get(block['type'])?.(block) ?? false);
