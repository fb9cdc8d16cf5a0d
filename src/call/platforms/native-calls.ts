import { errorTable, type Problem } from '../../base/common/errors.js';
import type { ToolErrorBody, ToolOutcome } from '../../web/contract/tool-outcome.js';
import { isDeeperThan, tooDeep, writableLevels } from '../../base/common/json-depth.js';
import { alwaysFits, excessOfCaller, excessOfNames } from '../../base/common/json-size.js';
import { isObject } from '../../base/common/json.js';
import {
  anthropicFile,
  blocksOf,
  jsonWithoutFiles,
  type Part,
  responsesFile,
  textOfParts,
} from './content-parts.js';
import { contains, ownResult, partsOf, textOf } from './mcp-results.js';

/** The answer for a model: the result, the tool's fallback, or the error. */
export interface ReadableAnswer {
  readonly failed: boolean;
  /** Any JSON value. */
  readonly value: unknown;
  /** Texts and files of the answer. Absent: there is only the value. */
  readonly parts?: readonly Part[];
}

/** The answer of an executed call. @param isMcp whether its tool is of an MCP server */
export function readableOutcome(outcome: ToolOutcome, isMcp = false): ReadableAnswer {
  const mcpResult = ownResult(outcome, isMcp);
  const parts = mcpResult && partsOf(mcpResult, isMcp);
  if (outcome.status !== 'success' && outcome.result === undefined)
    return readableError(outcome.error, parts);
  const failed = outcome.status !== 'success' || mcpResult?.isError === true;
  if (!parts) return { failed, value: outcome.result };
  const { structuredContent: data } = mcpResult;
  const isData = !failed && parts.length === 1 && data !== undefined && contains(parts, data);
  return { failed, value: isData ? data : textOfParts(parts), parts };
}

/** Max characters of an error's data in an answer. */
const maxDataChars = 4_000;

/** The answer of a failed call. @param content content of an MCP server's error; other tools have code and data */
function readableError({ type, message, code, data }: ToolErrorBody, content?: Part[]): ReadableAnswer {
  const isRepeated = (text: string): boolean => message.includes(text) || text.startsWith(message);
  const parts = content?.filter((part) => typeof part !== 'string' || !isRepeated(part)) ?? [];
  if (!content && code !== errorTable[type].jsonRpc) parts.push(`code: ${code}`);
  if (!content && data !== undefined && data !== null && !contains([message], data))
    parts.push(`data: ${cut(jsonWithoutFiles(data), maxDataChars)}`);
  parts.unshift(`${type}: ${message}`);
  return { failed: true, value: textOfParts(parts), parts };
}

/** Cuts a text and names the number of removed characters. */
export const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}\n… ${text.length - max} more characters were cut`;

/** The answer of a refused call: the tool's fallback, or code and detail. */
export const readableProblem = ({ code, detail, details }: Problem): ReadableAnswer => ({
  failed: true,
  value: details.fallback ?? `${code}: ${detail}`,
});

export const answerText = ({ value, parts }: ReadableAnswer): string =>
  parts ? textOfParts(parts) : textOf(value);

/** A tool call parsed from a platform's own format. */
export interface NativeCall {
  readonly id: string;
  readonly tool: string;
  /** Absent if the model's arguments are not valid JSON. */
  readonly input?: unknown;
  /** Why the arguments cannot be read; absent if they can. */
  readonly malformed?: string;
  /** Formats the answer for the platform. */
  readonly answer: (answer: ReadableAnswer, elapsedMs: number) => object;
}

/** The members of a call in any of the formats. */
interface Wire {
  readonly type?: string;
  readonly id?: string;
  readonly call_id?: string;
  readonly tool_call_id?: string;
  readonly name?: string;
  readonly tool_name?: string;
  readonly arguments?: unknown;
  readonly input?: unknown;
  readonly function?: { readonly name?: string; readonly arguments?: unknown };
}

export const resultFormats = ['openai', 'openai-responses', 'anthropic', 'distri', 'holmes'] as const;
export type ResultFormat = (typeof resultFormats)[number];

type ReadCall = Omit<NativeCall, 'answer'> & { readonly format: ResultFormat };

/**
 * Parses a call in the format of OpenAI (chat or responses), Anthropic or Distri.
 * @param format format of the answer, by default that of the call
 * @returns undefined for any other format
 */
export function nativeCall(wire: Wire, format?: ResultFormat): NativeCall | undefined {
  const call = openAiCall(wire) ?? responsesCall(wire) ?? anthropicCall(wire) ?? distriCall(wire);
  if (!call) return undefined;
  const answerTo = answerIn[format ?? call.format];
  return { ...call, answer: (answer, elapsedMs) => answerTo(call, answer, elapsedMs) };
}

function openAiCall({ id, function: called }: Wire): ReadCall | undefined {
  if (!isText(id) || !isText(called?.name)) return undefined;
  const { name, arguments: given } = called;
  return { format: 'openai', id, tool: name, ...readArguments(given) };
}

function responsesCall({ type, call_id: id, name, arguments: given }: Wire): ReadCall | undefined {
  if (type !== 'function_call' || !isText(id) || !isText(name)) return undefined;
  return { format: 'openai-responses', id, tool: name, ...readArguments(given) };
}

function anthropicCall({ type, id, name, input }: Wire): ReadCall | undefined {
  if (type !== 'tool_use' || !isText(id) || !isText(name)) return undefined;
  return { format: 'anthropic', id, tool: name, input: input || {} };
}

function distriCall({ tool_call_id: id, tool_name: name, input }: Wire): ReadCall | undefined {
  if (!isText(id) || !isText(name)) return undefined;
  return { format: 'distri', id, tool: name, ...readArguments(input) };
}

type WriteAnswer = (call: ReadCall, answer: ReadableAnswer, elapsedMs: number) => object;

const answerIn: Readonly<Record<ResultFormat, WriteAnswer>> = {
  // OpenAI's tool messages accept text only.
  openai: ({ id }, answer) => ({ role: 'tool', tool_call_id: id, content: answerText(answer) }),
  'openai-responses': ({ id }, { value, parts = [textOf(value)] }) => ({
    type: 'function_call_output',
    call_id: id,
    output: blocksOf(parts, 'input_text', responsesFile),
  }),
  anthropic: ({ id }, { value, failed, parts = [textOf(value)] }) => ({
    type: 'tool_result',
    tool_use_id: id,
    // With `is_error`, Anthropic accepts text only.
    content: failed ? textOfParts(parts) || 'The tool failed' : blocksOf(parts, 'text', anthropicFile),
    ...(failed && { is_error: true }),
  }),
  distri: ({ id, tool }, { value, failed }) => {
    const data = failed
      ? { result: null, success: false, error: textOf(value) }
      : { result: value, success: true };
    return { tool_call_id: id, tool_name: tool, parts: [{ part_type: 'data', data }] };
  },
  holmes: ({ id, tool, input }, answer, elapsedMs) => ({
    tool_call_id: id,
    tool_name: tool,
    result: holmesResult(answer, input, elapsedMs),
  }),
};

/** HolmesGPT's StructuredToolResult; an empty result is `no_data`. */
function holmesResult({ value, failed }: ReadableAnswer, params: unknown, elapsedMs: number): object {
  const isEmpty = value === undefined || value === null || value === '';
  const successStatus = isEmpty ? 'no_data' : 'success';
  return {
    schema_version: 'robusta:v1.0.0',
    status: failed ? 'error' : successStatus,
    error: failed ? textOf(value) : null,
    return_code: failed ? 1 : 0,
    data: failed || isEmpty ? null : value,
    params: isObject(params) ? params : null,
    elapsed_seconds: elapsedMs / 1_000,
  };
}

/** Reads the arguments, which models send as JSON text, or as empty text for none. */
function readArguments(given: unknown): Pick<NativeCall, 'input' | 'malformed'> {
  if (typeof given !== 'string') return { input: given ?? {} };
  if (given.trim() === '') return { input: {} };
  try {
    const isSmall = given.length < alwaysFits;
    const excess = isSmall ? undefined : excessOfCaller(given);
    if (excess !== undefined) return malformedArguments(excess);
    const input = (JSON.parse(given) as unknown) ?? {};
    if (isDeeperThan(input, writableLevels)) return malformedArguments(tooDeep);
    const excessNames = isSmall ? undefined : excessOfNames(input);
    return excessNames === undefined ? { input } : malformedArguments(excessNames);
  } catch (error) {
    return { malformed: `The arguments are not valid JSON: ${(error as Error).message}` };
  }
}

const malformedArguments = (why: string): Pick<NativeCall, 'malformed'> => ({
  malformed: `The arguments' JSON ${why}`,
});

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
