import { RE2JS } from 're2js';
import type { FieldProblem } from '../common/errors.js';
import { asFieldProblem, mostProblems } from '../common/field-problems.js';
import { inDialect } from './schema-dialects.js';
import type { JsonSchema } from './tool.js';

export interface CompiledSchema {
  /** Size of its patterns' automata. */
  readonly instructions: number;
  /** @returns the first problem of an input, or with `allErrors` the first twenty; empty if it is valid */
  readonly problemsOf: (input: unknown) => readonly FieldProblem[];
}

/** Memory for the states of one pattern's automaton. */
const patternCacheBytes = 524_288;

/**
 * Compiles a schema that is known to be one of its dialect. Each has a compiler instance of its own, so that a
 * dropped tool's schema can be collected. Unknown keywords are annotations; remote `$ref`s do not resolve.
 * @throws Error that says what is wrong with it
 */
export function compileSchema(schema: JsonSchema, { allErrors = false } = {}): CompiledSchema {
  let instructions = 0;
  /** Patterns run in linear time: native regular expressions can be made to hang the server. */
  const linear = (source: string): RE2JS => {
    const pattern = RE2JS.compile(source);
    const { dfa } = pattern.re2();
    dfa.stateBudget = dfa.memBudget = patternCacheBytes;
    instructions += pattern.programSize();
    return pattern;
  };
  const { Dialect, own: all } = inDialect(schema);
  const ajv = new Dialect({
    strict: false,
    allErrors,
    // Written out wherever it is referred to, a small schema becomes gigabytes of code.
    inlineRefs: false,
    // An input has no field `toString` just because every object inherits one.
    ownProperties: true,
    validateFormats: false,
    // Its dialect's schema was asked before: that takes longer to compile than all the rest.
    validateSchema: false,
    meta: false,
    logger: false,
    code: {
      regExp: Object.assign(linear, { code: 'linearRegExp' }),
      // It takes twice as long to compile as it is, and runs no faster.
      optimize: false,
    },
  });
  // An asynchronous one would answer with a promise, which reads as valid.
  const { $async: _async, ...own } = all;
  // Keeping account of what was evaluated takes time, and with some branches it throws (Ajv 8.20).
  ajv.opts.unevaluated = JSON.stringify(own).includes('"unevaluated');
  const validate = ajv.compile(own);
  return {
    instructions,
    problemsOf: (input) =>
      validate(input) ? [] : (validate.errors ?? []).slice(0, mostProblems).map(asFieldProblem),
  };
}
