import { Ajv } from 'ajv';
import { LRUCache } from 'lru-cache';
import type { FieldProblem } from '../common/errors.js';
import { answerCalls } from '../common/worker-calls.js';
import { compileSchema, inDialect, type SchemaCompiler } from './schema-compiler.js';
import { costPerByte } from './schema-cost.js';
import type { JsonSchema } from './json-schema.js';
import type { SchemaAnswer, SchemaPass, SchemaTest } from './schema-thread.js';

const lenient = { strict: false, validateFormats: false, logger: false } as const;
/** Each dialect's own schema, compiled. */
const metaSchemas = new Map<unknown, SchemaCompiler>();
/** Compiled schemas by their text, ready for further passes. */
const kept = new LRUCache<string, ReturnType<typeof compileSchema>>({ max: 16 });

answerCalls<SchemaTest | SchemaPass, SchemaAnswer>((question) =>
  'input' in question ? problemsOf(question) : costOf(question),
);

function costOf({ schema: text, isOutput }: SchemaTest): number {
  const schema = JSON.parse(text) as JsonSchema;
  const { Dialect, own } = inDialect(schema);
  const metaSchema = metaSchemas.get(Dialect) ?? new Dialect(lenient);
  metaSchemas.set(Dialect, metaSchema);
  void metaSchema.validateSchema(own, true);
  // MCP's TypeScript SDK compiles all output schemas like this, and lists no tool where one of them fails.
  if (isOutput) new Ajv({ ...lenient, validateSchema: false }).compile(schema);
  const compiled = compileSchema(schema);
  try {
    for (const input of [{}, null, [], 0, '', [[]], [{}]]) compiled.problemsOf(input);
  } catch (error) {
    const what = error instanceof RangeError ? 'takes too long, or for ever' : 'cannot be validated';
    throw new Error(`a small input ${what}: ${String(error)}`, { cause: error });
  }
  return costPerByte(own, compiled.instructions);
}

function problemsOf({ schema, input, allErrors }: SchemaPass): readonly FieldProblem[] {
  const value: unknown = JSON.parse(input);
  const first = compiled(schema, false).problemsOf(value);
  return first.length > 0 && allErrors ? compiled(schema, true).problemsOf(value) : first;
}

function compiled(text: string, allErrors: boolean): ReturnType<typeof compileSchema> {
  const key = `${allErrors} ${text}`;
  const schema = kept.get(key) ?? compileSchema(JSON.parse(text) as JsonSchema, { allErrors });
  kept.set(key, schema);
  return schema;
}
