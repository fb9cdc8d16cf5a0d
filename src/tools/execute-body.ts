import { Problem } from '../common/errors.js';
import { type ContextBody, maxHeaderLength } from './call-context.js';
import { compileInputSchema } from './input-validator.js';

export interface ExecuteBody {
  readonly input: unknown;
  readonly context: ContextBody;
}

const text = { type: 'string', minLength: 1, maxLength: maxHeaderLength, pattern: '^[^\\x00-\\x1f]*$' };

/** The envelope of a call; the input itself is the tool's schema's business. */
export const executeBodySchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    input: { description: "The tool's input; absent means {}" },
    context: {
      type: 'object',
      additionalProperties: false,
      properties: {
        userId: text,
        sessionId: text,
        requestId: text,
        investigationId: text,
        runId: text,
        threadId: text,
        labels: {
          type: 'object',
          maxProperties: 64,
          additionalProperties: { type: 'string', maxLength: 256 },
        },
        timeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000 },
      },
    },
  },
};

const noLimits = { schemaMaxBytes: Infinity, schemaMaxDepth: Infinity };

const validate = compileInputSchema(executeBodySchema, noLimits);

/**
 * Checks the envelope with a compiled schema: the class-based pipe would copy the whole input on the hot path.
 * @throws Problem `invalid_request` naming the fields
 */
export function parseExecuteBody(value: unknown): ExecuteBody {
  const body = value ?? {};
  const errors = validate(body);
  if (errors.length > 0) {
    const detail = errors.map((error) => `${error.pointer.slice(1) || 'body'} ${error.detail}`).join('; ');
    throw new Problem('invalid_request', detail, { errors });
  }
  const { input = {}, context = {} } = body as Partial<ExecuteBody>;
  return { input, context };
}
