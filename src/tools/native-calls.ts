import { isDeeperThan, tooDeep, writableLevels } from '../common/json-depth.js';
import { isObject } from '../common/json.js';
import { type ReadableAnswer, textOf } from './readable-answer.js';

/** A platform's own call, read. */
export interface NativeCall {
  readonly id: string;
  readonly tool: string;
  /** Absent where the model wrote arguments that are no JSON. */
  readonly input?: unknown;
  readonly malformed?: string;
  /** What the schema lets be left out may have been written as null: OpenAI's strict mode has no other way. */
  readonly nullsForAbsent?: boolean;
  /** The answer as the platform takes it. */
  readonly answer: (answer: ReadableAnswer, elapsedMs: number) => object;
}

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

/** Platforms that call as OpenAI does, and want another answer. */
export const resultFormats = ['holmes'] as const;
export type ResultFormat = (typeof resultFormats)[number];

/**
 * Reads a call as OpenAI (chat and responses), Anthropic or Distri write it.
 * @returns undefined for what is none of these
 */
export function nativeCall(wire: Wire, format?: ResultFormat): NativeCall | undefined {
  return openAiCall(wire, format) ?? responsesCall(wire) ?? anthropicCall(wire) ?? distriCall(wire);
}

function openAiCall({ id, function: called }: Wire, format?: ResultFormat): NativeCall | undefined {
  if (!isText(id) || !isText(called?.name)) return undefined;
  const { name } = called;
  const read = readArguments(called.arguments);
  return {
    id,
    tool: name,
    ...read,
    nullsForAbsent: mayHoldNull(called.arguments),
    answer: (answer, elapsedMs) =>
      format === 'holmes'
        ? { tool_call_id: id, tool_name: name, result: holmesResult(answer, read.input, elapsedMs) }
        : { role: 'tool', tool_call_id: id, content: textOf(answer.value) },
  };
}

function responsesCall({ type, call_id: id, name, arguments: given }: Wire): NativeCall | undefined {
  if (type !== 'function_call' || !isText(id) || !isText(name)) return undefined;
  const answer = ({ value }: ReadableAnswer) => ({
    type: 'function_call_output',
    call_id: id,
    output: textOf(value),
  });
  return { id, tool: name, ...readArguments(given), nullsForAbsent: mayHoldNull(given), answer };
}

function anthropicCall({ type, id, name, input }: Wire): NativeCall | undefined {
  if (type !== 'tool_use' || !isText(id) || !isText(name)) return undefined;
  const answer = ({ value, failed }: ReadableAnswer) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: textOf(value),
    ...(failed && { is_error: true }),
  });
  return { id, tool: name, input: input ?? {}, answer };
}

function distriCall({ tool_call_id: id, tool_name: name, input }: Wire): NativeCall | undefined {
  if (!isText(id) || !isText(name)) return undefined;
  const answer = ({ value, failed }: ReadableAnswer) => {
    const data = failed
      ? { result: null, success: false, error: textOf(value) }
      : { result: value, success: true };
    return { tool_call_id: id, tool_name: name, parts: [{ part_type: 'data', data }] };
  };
  return { id, tool: name, ...readArguments(input), answer };
}

/** HolmesGPT's StructuredToolResult: a result without anything in it is `no_data`. */
function holmesResult({ value, failed }: ReadableAnswer, params: unknown, elapsedMs: number): object {
  const isEmpty = value === undefined || value === null || value === '';
  return {
    schema_version: 'robusta:v1.0.0',
    status: failed ? 'error' : isEmpty ? 'no_data' : 'success',
    error: failed ? textOf(value) : null,
    return_code: failed ? 1 : 0,
    data: failed || isEmpty ? null : value,
    params: isObject(params) ? params : null,
    elapsed_seconds: elapsedMs / 1_000,
  };
}

/** Models write arguments as a text, and an empty one for none. */
function readArguments(given: unknown): Pick<NativeCall, 'input' | 'malformed'> {
  if (typeof given !== 'string') return { input: given ?? {} };
  if (given.trim() === '') return { input: {} };
  try {
    const input = (JSON.parse(given) as unknown) ?? {};
    return isDeeperThan(input, writableLevels) ? { malformed: `The arguments' JSON ${tooDeep}` } : { input };
  } catch (error) {
    return { malformed: `The arguments are not valid JSON: ${(error as Error).message}` };
  }
}

const mayHoldNull = (given: unknown): boolean => typeof given !== 'string' || given.includes('null');
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
