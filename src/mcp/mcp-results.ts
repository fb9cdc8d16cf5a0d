import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Problem, ProblemCode } from '../common/errors.js';
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
const blockTypes = new Set(['text', 'image', 'audio', 'resource', 'resource_link']);

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
  if (!failed && isMcpResult(value)) return value;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return {
    content: [{ type: 'text', text: textOf(value) }],
    ...(isObject && { structuredContent: value }),
    ...(failed && { isError: true }),
  };
}

function isMcpResult(result: unknown): result is CallToolResult {
  const content = (result as { content?: unknown } | null)?.content;
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((block) => blockTypes.has((block as { type?: string } | null)?.type ?? ''))
  );
}
