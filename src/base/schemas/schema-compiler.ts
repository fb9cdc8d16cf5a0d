import { _, Ajv, type ErrorObject, Name } from 'ajv';
import type { RE2JS } from 're2js';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { FieldProblem } from '../common/errors.js';
import { asFieldProblem, maxProblems } from '../common/field-problems.js';
import type { JsonSchema } from './json-schema.js';
import { linearPattern } from './pattern.js';
import { repairInput, valueAt, type Verdict } from './schema-repair.js';

/** The validator of a schema. */
export interface CompiledSchema {
  /** Size of the automata of the schema's patterns. */
  readonly instructions: number;
  /** The first problem of an input, or with `allErrors` the first twenty; empty if it is valid. */
  readonly problemsOf: (input: unknown) => readonly FieldProblem[];
  /** The repaired input, or the problems that remain. */
  readonly repair: (input: unknown) => Verdict;
}

/** Max memory for the states of one pattern's automaton. */
const patternCacheBytes = 524_288;

/**
 * Compiles a schema that is valid in its dialect. Each schema has its own compiler instance, so that the schema of a removed
 * tool can be garbage-collected. Unknown keywords are annotations; remote `$ref`s are not resolved.
 * @throws Error with the reason
 */
export function compileSchema(schema: JsonSchema, { allErrors = false } = {}): CompiledSchema {
  let instructions = 0;
  /** Compiles a pattern that runs in linear time; a native regular expression could hang the server. */
  const linear = (source: string): RE2JS => {
    const pattern = linearPattern(source);
    const { dfa } = pattern.re2();
    dfa.stateBudget = dfa.memBudget = patternCacheBytes;
    instructions += pattern.programSize();
    return pattern;
  };
  const { Dialect, keywords } = inDialect(schema);
  const ajv = new Dialect({
    strict: false,
    allErrors,
    // Inlining all references could turn a small schema into gigabytes of code.
    inlineRefs: false,
    // Inherited members such as `toString` are no fields of an input.
    ownProperties: true,
    validateFormats: false,
    // The schema was checked by its dialect before, which takes longer to compile than all the rest.
    validateSchema: false,
    meta: false,
    logger: false,
    code: {
      regExp: Object.assign(linear, { code: 'linearRegExp' }),
      // Optimised code takes twice as long to compile and runs no faster.
      optimize: false,
    },
  });
  // An asynchronous validator would return a promise, which counts as valid.
  const { $async: _async, ...synchronous } = keywords;
  // Tracking evaluated members takes time.
  ajv.opts.unevaluated = JSON.stringify(synchronous).includes('"unevaluated');
  if (ajv.opts.unevaluated) patchEvaluated(ajv);
  const validate = ajv.compile(synchronous);
  const errorsOf = (input: unknown): ErrorObject[] => (validate(input) ? [] : (validate.errors ?? []));
  return {
    instructions,
    problemsOf: (input) => (validate(input) ? [] : problemsIn(validate.errors ?? [], input)),
    repair: (given) => {
      const { input, errors } = repairInput(given, errorsOf);
      if (errors.length > 0) return problemsIn(errors, input);
      return input === given ? [] : { repaired: input };
    },
  };
}

/** Ajv's errors as problems of fields. */
const problemsIn = (errors: readonly ErrorObject[], input: unknown): FieldProblem[] =>
  errors
    .slice(0, maxProblems)
    .map((error) => asFieldProblem({ ...error, data: valueAt(input, error.instancePath) }));

/**
 * Patches a bug of Ajv 8.20, in this instance's copies of two keywords. Ajv declares the evaluated properties and items of a
 * branch within the branch. If the branch is not taken, they are undefined, but are read and written. The set of a `$ref`
 * belongs to the other schema, so it is copied.
 */
function patchEvaluated(ajv: SchemaCompiler): void {
  for (const keyword of ['patternProperties', 'unevaluatedItems']) {
    const rule = ajv.RULES.all[keyword];
    if (typeof rule !== 'object' || !('code' in rule.definition)) continue;
    const { code } = rule.definition;
    rule.definition.code = (cxt, type) => {
      const { gen, it } = cxt;
      const { props, items } = it;
      if (keyword === 'unevaluatedItems' && items instanceof Name) gen.assign(items, _`${items} || 0`);
      if (keyword === 'patternProperties' && props instanceof Name)
        gen.assign(props, _`${props} === true || {...${props}}`);
      code(cxt, type);
    };
  }
}

export type SchemaCompiler = Ajv | Ajv2019 | Ajv2020;
type Dialect = new (options: ConstructorParameters<typeof Ajv>[0]) => SchemaCompiler;

/** A schema with its dialect. */
interface InDialect {
  readonly Dialect: Dialect;
  /** The `$schema` of the dialect. */
  readonly $schema: string;
  /** The schema without its own `$schema`. */
  readonly keywords: JsonSchema;
  readonly nearest: keyof typeof dialects;
  /** Present if the dialect is unknown, so that the nearest one is used. */
  readonly warning?: string;
}

/** Matches known dialects. Draft-06 is read as draft-07, of which it is a subset. */
const knownDialects =
  /^"(|https:\/\/json-schema\.org\/draft\/20(20-12|19-09)\/schema#?|http:\/\/json-schema\.org\/draft-0[67]\/schema#?)"$/;

/** The compiler of each dialect, and its `$schema`. */
const dialects = {
  'draft-07': { Dialect: Ajv, $schema: 'http://json-schema.org/draft-07/schema#' },
  '2019-09': { Dialect: Ajv2019, $schema: 'https://json-schema.org/draft/2019-09/schema' },
  '2020-12': { Dialect: Ajv2020, $schema: 'https://json-schema.org/draft/2020-12/schema' },
} as const;

/** The dialect of a schema, by its `$schema`; default: 2020-12. */
export function inDialect({ $schema, ...keywords }: JsonSchema): InDialect {
  const named = JSON.stringify($schema ?? '');
  const nearest = nearestDialect(named);
  const warning = `its $schema ${named.slice(0, 100)} is not known here; it is read as JSON Schema ${nearest}`;
  return { ...dialects[nearest], keywords, nearest, ...(!knownDialects.test(named) && { warning }) };
}

function nearestDialect(named: string): keyof typeof dialects {
  if (/draft[-/]?0?[1-7]\b/i.test(named)) return 'draft-07';
  return named.includes('2019-09') ? '2019-09' : '2020-12';
}
