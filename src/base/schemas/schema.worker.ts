/** The worker of `SchemaThread`: tests schemas, and validates inputs. */
import { Ajv, type ErrorObject } from 'ajv';
import { LRUCache } from 'lru-cache';
import { messageOf } from '../common/message-of.js';
import { answerCalls } from '../common/worker-calls.js';
import { type CompiledSchema, compileSchema, inDialect, type SchemaCompiler } from './schema-compiler.js';
import { costPerByte } from './schema-cost.js';
import type { JsonSchema } from './json-schema.js';
import { type Faults, readSchema } from './schema-reader.js';
import type { Verdict } from './schema-repair.js';
import type { SchemaAnswer, ValidationRequest, TestRequest, TestResult } from './schema-thread.js';

/** Options of Ajv under which a valid schema of any dialect compiles. */
const lenient = { strict: false, validateFormats: false, logger: false } as const;
/** Compilers that check schemas with the meta-schema of their dialect. */
const metaSchemas = new Map<unknown, SchemaCompiler>();
/** Cache of compiled schemas, by `allErrors` and their text. */
const compiledSchemas = new LRUCache<string, CompiledSchema>({ max: 16 });

answerCalls<TestRequest | ValidationRequest, SchemaAnswer>((request) =>
  'input' in request ? validateInput(request) : testSchema(request),
);

/** Tests a schema, and makes an almost valid input schema usable. */
function testSchema({ schema: text, isOutput }: TestRequest): TestResult {
  const given = JSON.parse(text) as JsonSchema;
  if (isOutput) return { cost: testedCost(checkedOutput(given)), schema: given, warnings: [] };
  const { $schema, nearest, warning } = inDialect(given);
  let lastCompiled: CompiledSchema | undefined;
  const onCompiled = (compiled: CompiledSchema): unknown => (lastCompiled = compiled);
  const read = readSchema(given, (each) => faultsOf(each, onCompiled), nearest === '2020-12');
  const schema = warning === undefined ? read.schema : { ...read.schema, $schema };
  return { cost: testedCost(schema, lastCompiled), schema, warnings: [warning ?? [], read.warnings].flat() };
}

/** The compiler that checks schemas of the same dialect. */
function metaSchemaOf(schema: JsonSchema): SchemaCompiler {
  const { Dialect } = inDialect(schema);
  const metaSchema = metaSchemas.get(Dialect) ?? new Dialect({ ...lenient, allErrors: true });
  metaSchemas.set(Dialect, metaSchema);
  return metaSchema;
}

/** An output schema that clients can compile. @throws Error with the reason if they cannot */
function checkedOutput(schema: JsonSchema): JsonSchema {
  const throwsIfInvalid = true;
  void metaSchemaOf(schema).validateSchema(inDialect(schema).keywords, throwsIfInvalid);
  // MCP's TypeScript SDK compiles output schemas like this, and lists no tools at all if one fails.
  new Ajv({ ...lenient, validateSchema: false }).compile(schema);
  return schema;
}

/**
 * Members that the meta-schema refuses, or else a member that does not compile.
 * @param onCompiled receives the compiled schema if it has no faults
 * @throws Error if the member cannot be identified
 */
function faultsOf(schema: JsonSchema, onCompiled: (compiled: CompiledSchema) => unknown): Faults {
  const metaSchema = metaSchemaOf(schema);
  if (metaSchema.validateSchema(inDialect(schema).keywords) !== true) {
    const errors = metaSchema.errors ?? [];
    const isDeepest = ({ instancePath: at }: ErrorObject): boolean =>
      !errors.some(({ instancePath }) => instancePath.startsWith(`${at}/`));
    return new Map(
      errors.filter(isDeepest).map((each) => [each.instancePath, each.message ?? 'is not valid']),
    );
  }
  try {
    onCompiled(compileSchema(schema));
    return new Map();
  } catch (error) {
    const [, reference] = /^can't resolve reference (.+) from id/.exec(messageOf(error)) ?? [];
    if (reference === undefined) throw error;
    return new Map([[`$ref ${reference}`, 'it leads nowhere']]);
  }
}

/** The cost of an input per byte, after a test with small inputs. @throws Error if one of them cannot be validated */
function testedCost(schema: JsonSchema, compiled = compileSchema(schema)): number {
  try {
    for (const input of [{}, null, [], 0, '', [[]], [{}]]) compiled.problemsOf(input);
  } catch (error) {
    const what = error instanceof RangeError ? 'takes too long, or for ever' : 'cannot be validated';
    throw new Error(`a small input ${what}: ${String(error)}`, { cause: error });
  }
  return costPerByte(inDialect(schema).keywords, compiled.instructions);
}

/** Validates an input, and repairs it if it is invalid. */
function validateInput({ schema, input, allErrors }: ValidationRequest): Verdict {
  const value: unknown = JSON.parse(input);
  const forFirstError = compiled(schema, { allErrors: false });
  if (!allErrors) return forFirstError.repair(value);
  const problems = forFirstError.problemsOf(value);
  return problems.length === 0 ? problems : compiled(schema, { allErrors }).repair(value);
}

/** A compiled schema, from the cache if possible. */
function compiled(text: string, options: { readonly allErrors: boolean }): CompiledSchema {
  const key = `${options.allErrors} ${text}`;
  const schema = compiledSchemas.get(key) ?? compileSchema(JSON.parse(text) as JsonSchema, options);
  compiledSchemas.set(key, schema);
  return schema;
}
