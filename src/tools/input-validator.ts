import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { type FieldProblem, Problem, Refusal } from '../common/errors.js';
import { isDeeperThan } from '../common/json-depth.js';
import type { JsonSchema } from '../tool-contract/tool.js';
import type { CallRequest } from '../tool-contract/tool-call.js';

export type InputValidator = (input: unknown) => readonly FieldProblem[];

export interface SchemaLimits {
  readonly schemaMaxBytes: number;
  readonly schemaMaxDepth: number;
}

export interface InputLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/**
 * Caps on an input's bytes and depth, held before its schema is asked.
 * @throws Refusal `payload_too_large` or `invalid_input`, naming the variable that raises the limit
 */
export function refuseOversized({ input, bytesAtMost }: CallRequest, limits: InputLimits): void {
  const { maxBytes, maxDepth } = limits;
  // Only an input that may be over the cap is measured. Written anew it may have grown: 1e20 becomes 21 digits.
  if (bytesAtMost === undefined || bytesAtMost * 6 > maxBytes) {
    const bytes = Buffer.byteLength(JSON.stringify(input) ?? '');
    if (bytes > maxBytes) {
      const detail = `input is ${bytes} bytes, the cap is ${maxBytes} (TOOL_INPUT_MAX_BYTES)`;
      throw new Refusal('payload_too_large', detail, { errors: [{ pointer: '/input', detail }] });
    }
  }
  // Each level takes two bytes: what is short is not looked through.
  if ((bytesAtMost ?? Infinity) > 2 * maxDepth && isDeeperThan(input, maxDepth)) {
    const detail = `input is nested deeper than ${maxDepth} levels (TOOL_INPUT_MAX_DEPTH)`;
    throw new Refusal('invalid_input', detail, { errors: [{ pointer: '/input', detail }] });
  }
}

/** Enough to mend a call; a large input could break its schema a hundred thousand times. */
const mostProblems = 20;

/** Patterns run in linear time whatever the input: native regular expressions can be made to hang the server. */
const linearRegExp = Object.assign((pattern: string) => RE2JS.compile(pattern), { code: 'linearRegExp' });

/**
 * Compiles a tool's input schema (JSON Schema 2020-12) once. Each schema has its own compiler instance, so that a
 * dropped tool's schema can be collected. Unknown keywords are annotations; remote `$ref`s do not resolve.
 * @throws Problem `invalid_request` that points at the schema when it is not one
 */
export function compileInputSchema(
  schema: unknown,
  limits: SchemaLimits,
  pointer = '/inputSchema',
): InputValidator {
  const refuse = (detail: string): never => {
    throw new Problem('invalid_request', `${pointer.slice(1)} ${detail}`, { errors: [{ pointer, detail }] });
  };
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    return refuse('must be a JSON Schema object');
  }
  if (isDeeperThan(schema, limits.schemaMaxDepth)) {
    refuse(`is nested deeper than ${limits.schemaMaxDepth} levels (TOOL_SCHEMA_MAX_DEPTH)`);
  }
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > limits.schemaMaxBytes) {
    refuse(`is ${bytes} bytes, the cap is ${limits.schemaMaxBytes} (TOOL_SCHEMA_MAX_BYTES)`);
  }
  try {
    const ajv = new Ajv2020({
      strict: false,
      allErrors: true,
      // An input has no field `toString` just because every object inherits one.
      ownProperties: true,
      validateFormats: false,
      code: { regExp: linearRegExp },
    });
    // A dialect of its own would have to be fetched; every schema is read as 2020-12.
    // An asynchronous one ($async) would answer with a promise, which reads as valid.
    const { $schema: _dialect, $async: _async, ...own } = schema as JsonSchema;
    const validate = ajv.compile(own);
    return (input) =>
      validate(input) ? [] : (validate.errors ?? []).slice(0, mostProblems).map(asFieldProblem);
  } catch (error) {
    return refuse(`is not a valid JSON Schema: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function asFieldProblem({ instancePath, message, keyword, params }: ErrorObject): FieldProblem {
  const named = params as {
    missingProperty?: string;
    additionalProperty?: string;
    allowedValues?: unknown[];
  };
  const property = named.missingProperty ?? named.additionalProperty;
  const pointer = property === undefined ? instancePath : `${instancePath}/${escapePointer(property)}`;
  if (keyword === 'required') return { pointer, detail: 'is required' };
  if (keyword === 'additionalProperties') return { pointer, detail: 'is not a known field' };
  const choices = named.allowedValues
    ? `: ${named.allowedValues.map((v) => JSON.stringify(v)).join(', ')}`
    : '';
  return { pointer, detail: `${message ?? 'is not valid'}${choices}` };
}

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
