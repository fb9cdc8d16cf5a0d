import { Ajv } from 'ajv';
import type { FieldProblem } from '../common/errors.js';
import { messageOf } from '../common/message-of.js';
import { answerCalls } from '../common/worker-calls.js';
import type { JsonSchema } from '../tool-contract/tool.js';
import { type CompiledSchema, compileSchema, spentMs, TooCostly } from '../tool-contract/schema-compiler.js';
import { inDialect, type SchemaCompiler } from '../tool-contract/schema-dialects.js';
import type { SchemaPass, SchemaTrial } from './schema-thread.js';

/** The time that checking one small input may take, with all that may go on beside it. */
const samplesMs = 250;
/** Past this time only the first problem is told, not all. */
const allProblemsMs = 250;
/** Schemas that are kept ready for further passes. */
const mostKept = 16;
const kept = new Map<string, CompiledSchema>();
const lenient = { strict: false, validateFormats: false, logger: false } as const;
/** By dialect: what knows how a schema has to look. */
const metaSchemas = new Map<unknown, SchemaCompiler>();

answerCalls<SchemaTrial | SchemaPass, number | readonly FieldProblem[]>((request) =>
  'input' in request ? problemsOf(request) : millisecondsOf(request),
);
// The first schema that is compiled pays for the compiler.
millisecondsOf({ schema: '{"type":"object","properties":{"a":{"enum":["b"]}}}' });

/** How long it takes to compile a schema and to look at a few inputs: both will be done where everybody waits. */
function millisecondsOf({ schema: text, isOutput }: SchemaTrial): number {
  const schema = JSON.parse(text) as JsonSchema;
  const { Dialect, own } = inDialect(schema);
  void metaSchemaOf(Dialect).validateSchema(own, true);
  // MCP's TypeScript SDK compiles all output schemas like this, and lists no tool where one of them fails.
  if (isOutput) new Ajv({ ...lenient, validateSchema: false }).compile(schema);
  const began = spentMs();
  const { problemsOf } = compileSchema(schema);
  for (const input of samplesFor(schema)) runTrial(() => problemsOf(input, samplesMs));
  return spentMs() - began;
}

function metaSchemaOf(Dialect: ReturnType<typeof inDialect>['Dialect']): SchemaCompiler {
  const metaSchema = metaSchemas.get(Dialect) ?? new Dialect(lenient);
  metaSchemas.set(Dialect, metaSchema);
  return metaSchema;
}

function runTrial(pass: () => unknown): void {
  try {
    pass();
  } catch (error) {
    const what = error instanceof TooCostly ? 'takes too long, or for ever' : 'cannot be validated';
    throw new Error(`a small input ${what}: ${messageOf(error)}`, { cause: error });
  }
}

function samplesFor(schema: JsonSchema): unknown[] {
  return [{}, null, [], 0, '', [[]], [{}], sampleOf(schema, 8)];
}

/** An input that reaches into a schema: every property that it names, and an item of every array. */
function sampleOf(schema: unknown, levels: number): unknown {
  if (typeof schema !== 'object' || schema === null || levels === 0) return null;
  const { properties, items } = schema as { properties?: unknown; items?: unknown };
  if (typeof items === 'object') return [sampleOf(items, levels - 1)];
  if (typeof properties !== 'object' || properties === null) return null;
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, sampleOf(property, levels - 1)]),
  );
}

function problemsOf({ schema, input, allErrors, withinMs }: SchemaPass): readonly FieldProblem[] {
  const value: unknown = JSON.parse(input);
  const first = firstProblem(compiled(schema, false), value, withinMs);
  if (first.length === 0 || !allErrors) return first;
  try {
    return compiled(schema, true).problemsOf(value, allProblemsMs);
  } catch {
    return first;
  }
}

function firstProblem(
  { problemsOf }: CompiledSchema,
  value: unknown,
  withinMs: number,
): readonly FieldProblem[] {
  try {
    return problemsOf(value, withinMs);
  } catch (error) {
    // A cause says more than that: the schema has filled the stack.
    if (!(error instanceof TooCostly) || error.cause !== undefined) throw error;
    return [{ pointer: '', detail: `takes more than ${withinMs} ms to validate: make it smaller` }];
  }
}

function compiled(text: string, allErrors: boolean): CompiledSchema {
  const key = `${allErrors} ${text}`;
  const schema = kept.get(key) ?? compileSchema(JSON.parse(text) as JsonSchema, { allErrors });
  // The one that was used last is at the end.
  kept.delete(key);
  kept.set(key, schema);
  for (const [oldest] of kept) if (kept.size > mostKept) kept.delete(oldest);
  return schema;
}
