import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Problem, ProblemCode } from '../common/errors.js';
import { problemBody } from '../common/problem.filter.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

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

/** What came of a call, as MCP has it. The outcome without result and error stands in `_meta`. */
export function toolResultOf(outcome: ToolOutcome): CallToolResult {
  if (outcome.status === 'success') {
    const { result, ...about } = outcome;
    return { ...contentOf(result), _meta: { 'toolkeeper/outcome': about } };
  }
  const { result: fallback, ...about } = outcome;
  const { type, message } = outcome.error;
  return {
    ...(fallback === undefined ? textOf(`${type}: ${message}`) : contentOf(fallback)),
    isError: true,
    _meta: { 'toolkeeper/outcome': about },
  };
}

/** A call that was not run, for the model to read. */
export function refusedResult(problem: Problem, requestId: string): CallToolResult {
  const { fallback } = problem.details;
  return {
    ...(fallback === undefined ? textOf(`${problem.code}: ${problem.detail}`) : contentOf(fallback)),
    isError: true,
    _meta: { 'toolkeeper/problem': problemBody(problem, requestId) },
  };
}

const textOf = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

/** An object is given as structured content, too; what has the form of MCP's own results is handed on as it is. */
function contentOf(result: unknown): CallToolResult {
  if (typeof result === 'string') return textOf(result);
  if (isMcpResult(result)) return result;
  const text = JSON.stringify(result ?? null);
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result);
  return { ...textOf(text), ...(isObject && { structuredContent: result }) };
}

function isMcpResult(result: unknown): result is CallToolResult {
  const content = (result as { content?: unknown } | null)?.content;
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((block) => blockTypes.has((block as { type?: string } | null)?.type ?? ''))
  );
}
