import { _, type FuncKeywordDefinition, type KeywordCxt, Name } from 'ajv';
import { RE2JS } from 're2js';
import { canonicalJson } from '../common/canonical-json.js';
import type { FieldProblem } from '../common/errors.js';
import { asFieldProblem, mostProblems } from '../common/field-problems.js';
import { inDialect, type SchemaCompiler } from './schema-dialects.js';
import type { JsonSchema } from './tool.js';

export interface CompiledSchema {
  /** How much work one byte of an input may make: what stands in the schema, and what its patterns were compiled to. */
  readonly nodes: number;
  /**
   * @param withinMs a pass that takes longer is given up
   * @returns the first problem of an input, or with `allErrors` the first twenty; empty when it is valid
   * @throws TooCostly
   */
  readonly problemsOf: (input: unknown, withinMs?: number) => readonly FieldProblem[];
}

/** A pass took longer than it may, or would never end. */
export class TooCostly extends Error {
  override readonly name = 'TooCostly';
}

/** The memory that all patterns of one schema share for their matching; by default each takes as much. */
const patternCacheBytes = 8_388_608;
/**
 * Writing a value out, and a step of an automaton that has to be made first, cost so many times what a keyword does.
 */
const nodesPerComparison = 8;
const nodesPerInstruction = 8;

/**
 * Compiles a schema that is known to be one of its dialect. Each has a compiler instance of its own, so that a
 * dropped tool's schema can be collected. Unknown keywords are annotations; remote `$ref`s do not resolve.
 * @throws Error that says what is wrong with it
 */
export function compileSchema(schema: JsonSchema, { allErrors = false } = {}): CompiledSchema {
  const meter = new Meter();
  const { Dialect, own: all } = inDialect(schema);
  const ajv = new Dialect({
    strict: false,
    allErrors,
    // Written out wherever it is referred to, a small schema becomes gigabytes of code.
    inlineRefs: false,
    // An input has no field `toString` just because every object inherits one.
    ownProperties: true,
    validateFormats: false,
    // Whether it is a schema was asked before: the schema of schemas takes longer to compile than all the rest.
    validateSchema: false,
    meta: false,
    logger: false,
    code: {
      regExp: Object.assign((pattern: string) => meter.pattern(pattern), { code: 'linearRegExp' }),
      // It takes twice as long to compile as it is, and runs no faster.
      optimize: false,
    },
  });
  for (const keyword of ownKeywords(meter)) {
    ajv.removeKeyword(keyword.keyword as string).addKeyword(keyword);
  }
  lookAtTheClock(ajv, meter);
  // An asynchronous one would answer with a promise, which reads as valid.
  const { $async: _async, ...own } = all;
  const validate = ajv.compile(own);
  return {
    nodes: nodesIn(own) + meter.nodes(),
    problemsOf: (input, withinMs = Infinity) =>
      meter.run(withinMs, () =>
        validate(input) ? [] : (validate.errors ?? []).slice(0, mostProblems).map(asFieldProblem),
      ),
  };
}

/** Processor time of this thread where Node tells it, so that what else runs on the machine does not count. */
export function spentMs(): number {
  const spent = (process as Partial<NodeJS.Process>).threadCpuUsage?.();
  return spent ? (spent.user + spent.system) / 1_000 : performance.now();
}

/** Bounds and counts what a schema costs. */
class Meter {
  private withinMs = Infinity;
  private endsAt = Infinity;
  private lateSince: number | undefined;
  private steps = 0;
  private comparisons = 0;
  private readonly patterns = new Map<string, RE2JS>();

  run<T>(withinMs: number, pass: () => T): T {
    this.withinMs = withinMs;
    this.endsAt = performance.now() + withinMs;
    this.lateSince = undefined;
    try {
      return pass();
    } catch (error) {
      // A reference that leads back to itself has filled the stack.
      throw error instanceof RangeError ? new TooCostly(error.message, { cause: error }) : error;
    }
  }

  /** Asked so often that the clock need not be looked at each time. */
  readonly check = (): void => {
    if ((++this.steps & 15) === 0 && performance.now() > this.endsAt) this.late();
  };

  /** A pause of the machine is no fault of the schema: what is late has to spend half its time once more. */
  private late(): void {
    const spent = spentMs();
    this.lateSince ??= spent;
    if (spent - this.lateSince >= this.withinMs / 2) throw new TooCostly('out of time');
    this.endsAt = performance.now() + this.withinMs / 2;
  }

  /** Patterns run in linear time whatever the input: native regular expressions can be made to hang the server. */
  pattern(source: string): RE2JS {
    const pattern = this.patterns.get(source) ?? RE2JS.compile(source);
    this.patterns.set(source, pattern);
    return pattern;
  }

  comparison(): void {
    this.comparisons += 1;
  }

  /** The nodes that the keywords stand for beyond themselves. */
  nodes(): number {
    let sum = nodesPerComparison * this.comparisons;
    for (const pattern of this.patterns.values()) {
      const { dfa } = pattern.re2();
      dfa.stateBudget = dfa.memBudget = patternCacheBytes / this.patterns.size;
      sum += nodesPerInstruction * pattern.programSize();
    }
    return sum;
  }
}

/**
 * With each keyword a pass looks whether it may go on: between two looks it does the work of one keyword for one
 * value.
 */
function lookAtTheClock(ajv: SchemaCompiler, meter: Meter): void {
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== 'object' || !('code' in rule.definition)) continue;
    const { code } = rule.definition;
    rule.definition.code = (cxt, type) => {
      cxt.gen.code(_`${cxt.gen.scopeValue('func', { ref: meter.check })}()`);
      prepareEvaluated(cxt);
      code(cxt, type);
    };
  }
}

/**
 * Ajv declares the names and counts that a branch (such as an `if`) has evaluated within the branch: after a branch that
 * was not taken they are undefined, yet they are read and written. The set that a `$ref` has evaluated belongs to the
 * other schema and may not be written to.
 */
function prepareEvaluated({ gen, keyword, it: { props, items } }: KeywordCxt): void {
  if (keyword === 'patternProperties' && props instanceof Name)
    gen.assign(props, _`${props} === true || {...${props}}`);
  if (keyword === 'unevaluatedItems' && items instanceof Name) gen.assign(items, _`${items} || 0`);
}

/**
 * Keywords that compare values: Ajv's own compare each with each, which does not end. These cost what the input's size
 * costs.
 */
function ownKeywords(meter: Meter): FuncKeywordDefinition[] {
  return [
    {
      keyword: 'uniqueItems',
      type: 'array',
      schemaType: 'boolean',
      errors: false,
      compile: (wanted: boolean) => {
        if (!wanted) return () => true;
        meter.comparison();
        return (items: readonly unknown[]) => areUnique(items, meter.check);
      },
      error: { message: 'must not have equal items' },
    },
    {
      keyword: 'enum',
      schemaType: 'array',
      errors: false,
      compile: (members: readonly unknown[]) => isOneOf(members, meter),
      error: {
        message: 'must be equal to one of the allowed values',
        params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
      },
    },
    {
      keyword: 'const',
      errors: false,
      compile: (member: unknown) => isOneOf([member], meter),
      error: { message: 'must be equal to constant' },
    },
  ];
}

function areUnique(items: readonly unknown[], check: () => void): boolean {
  const seen = new Set<string>();
  return items.every((item) => {
    check();
    return seen.size !== seen.add(keyOf(item)).size;
  });
}

function isOneOf(members: readonly unknown[], meter: Meter): (value: unknown) => boolean {
  const keys = new Set(members.map(keyOf));
  const types = new Set(members.map((member) => typeof member));
  if (types.has('object')) meter.comparison();
  // A value that cannot be among them is not serialised.
  return (value) => types.has(typeof value) && keys.has(keyOf(value));
}

/**
 * Equal values have equal keys. The first character keeps V8 from hashing digits by their number: a stranger can
 * make thousands of numbers of one hash.
 */
function keyOf(value: unknown): string {
  if (typeof value === 'string') return `"${value}`;
  return `:${typeof value === 'object' ? canonicalJson(value) : (value as number | boolean)}`;
}

/** Values in a schema, itself included. */
function nodesIn(schema: unknown): number {
  if (typeof schema !== 'object' || schema === null) return 1;
  return Object.values(schema).reduce<number>((sum, value) => sum + nodesIn(value), 1);
}
