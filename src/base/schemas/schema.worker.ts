import { Ajv, type ErrorObject } from 'ajv';
import { LRUCache } from 'lru-cache';
import { messageOf } from '../common/message-of.js';
import { answerCalls } from '../common/worker-calls.js';
import {
  type CompiledSchema,
  compileSchema,
  dialects,
  inDialect,
  type SchemaCompiler,
} from './schema-compiler.js';
import { costPerByte } from './schema-cost.js';
import type { JsonSchema } from './json-schema.js';
import { type Faults, readSchema } from './schema-reader.js';
import type { Verdict } from './schema-repair.js';
import type { SchemaAnswer, SchemaPass, SchemaTest, SchemaTrial } from './schema-thread.js';

const lenient = { strict: false, validateFormats: false, logger: false } as const;
/** Each dialect's own schema, compiled. */
const metaSchemas = new Map<unknown, SchemaCompiler>();
/** Cache of compiled schemas, by their text. */
const compiledSchemas = new LRUCache<string, ReturnType<typeof compileSchema>>({ max: 16 });

answerCalls<SchemaTest | SchemaPass, SchemaAnswer>((question) =>
  'input' in question ? verdictOn(question) : trialOf(question),
);

function trialOf({ schema: text, isOutput }: SchemaTest): SchemaTrial {
  const given = JSON.parse(text) as JsonSchema;
  if (isOutput) return { cost: testedCost(checkedOutput(given)), schema: given, warnings: [] };
  const { nearest, warning } = inDialect(given);
  let last: CompiledSchema | undefined;
  const keep = (compiled: CompiledSchema): unknown => (last = compiled);
  const read = readSchema(given, (each) => faultsOf(each, keep), nearest === '2020-12');
  const schema = warning === undefined ? read.schema : { ...read.schema, $schema: dialects[nearest] };
  return { cost: testedCost(schema, last), schema, warnings: [warning ?? [], read.warnings].flat() };
}

function metaSchemaOf(schema: JsonSchema): SchemaCompiler {
  const { Dialect } = inDialect(schema);
  const metaSchema = metaSchemas.get(Dialect) ?? new Dialect({ ...lenient, allErrors: true });
  metaSchemas.set(Dialect, metaSchema);
  return metaSchema;
}

function checkedOutput(schema: JsonSchema): JsonSchema {
  void metaSchemaOf(schema).validateSchema(inDialect(schema).own, true);
  // MCP's TypeScript SDK compiles output schemas like this, and lists no tools at all if one fails.
  new Ajv({ ...lenient, validateSchema: false }).compile(schema);
  return schema;
}

/** Members that the meta-schema refuses, or else a member that does not compile. @throws Error if it cannot be identified */
function faultsOf(schema: JsonSchema, keep: (compiled: CompiledSchema) => unknown): Faults {
  const metaSchema = metaSchemaOf(schema);
  if (metaSchema.validateSchema(inDialect(schema).own) !== true) {
    const errors = metaSchema.errors ?? [];
    const isDeepest = ({ instancePath: at }: ErrorObject): boolean =>
      !errors.some(({ instancePath }) => instancePath.startsWith(`${at}/`));
    return new Map(
      errors.filter(isDeepest).map((each) => [each.instancePath, each.message ?? 'is not valid']),
    );
  }
  try {
    keep(compileSchema(schema));
    return new Map();
  } catch (error) {
    const [, reference] = /^can't resolve reference (.+) from id/.exec(messageOf(error)) ?? [];
    if (reference === undefined) throw error;
    return new Map([[`$ref ${reference}`, 'it leads nowhere']]);
  }
}

/** Tests a schema. @returns the cost of an input per byte */
function testedCost(schema: JsonSchema, compiled = compileSchema(schema)): number {
  try {
    for (const input of [{}, null, [], 0, '', [[]], [{}]]) compiled.problemsOf(input);
  } catch (error) {
    const what = error instanceof RangeError ? 'takes too long, or for ever' : 'cannot be validated';
    throw new Error(`a small input ${what}: ${String(error)}`, { cause: error });
  }
  return costPerByte(inDialect(schema).own, compiled.instructions);
}

function verdictOn({ schema, input, allErrors }: SchemaPass): Verdict {
  const value: unknown = JSON.parse(input);
  const first = compiled(schema, false);
  if (!allErrors) return first.repair(value);
  const problems = first.problemsOf(value);
  return problems.length === 0 ? problems : compiled(schema, true).repair(value);
}

function compiled(text: string, allErrors: boolean): ReturnType<typeof compileSchema> {
  const key = `${allErrors} ${text}`;
  const schema = compiledSchemas.get(key) ?? compileSchema(JSON.parse(text) as JsonSchema, { allErrors });
  compiledSchemas.set(key, schema);
  return schema;
}
