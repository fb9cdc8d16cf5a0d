import { isObject } from '../common/json.js';
import { knownReference, partAt } from './schema-references.js';
import type { JsonSchema } from './json-schema.js';

/** Keywords that check nothing. Definitions count where they are referred to. */
const annotations = new Set(
  (
    'title description default example examples deprecated readOnly writeOnly $comment format contentEncoding ' +
    'contentMediaType discriminator $defs definitions'
  ).split(' '),
);
/** Keywords whose cost does not depend on the value's members. */
const limits = new Set(
  (
    'type nullable required enum const pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum ' +
    'minLength maxLength minItems maxItems minProperties maxProperties'
  ).split(' '),
);
/** Cost factor of keywords whose members may each create an error object. */
const costFactors: Readonly<Record<string, number>> = { anyOf: 20, oneOf: 20, allOf: 1 };
/** Max schemas in an `anyOf`, `oneOf` or `allOf`. */
const maxAlternatives = 16;
/** Max nodes of a schema. Compiling so many takes about 50 ms. */
const maxNodes = 1_000;
/** Max instructions of the automata of a schema's patterns. */
const maxInstructions = 1_000;
/** Cost of a step of a pattern's automaton, relative to a keyword. */
const nodesPerInstruction = 8;

/**
 * The cost of a schema: max number of checks per byte of an input. In a simple schema without references, each node checks
 * each value at most once.
 * @param instructions number of instructions of its patterns' automata
 * @returns Infinity if a keyword of the schema is not on the lists above, or if it is too large or recursive
 */
export function costPerByte(root: JsonSchema, instructions: number): number {
  let nodes = 0;
  /**
   * Adds the checks of a schema to `nodes`.
   * @param repeated whether an input may have many such values (items, additionalProperties)
   * @returns whether the schema is simple
   */
  const addSchema = (schema: unknown, repeated: boolean): boolean => {
    // Ends the walk of a recursive schema, too.
    if (++nodes > maxNodes) return false;
    if (!isObject(schema)) return typeof schema === 'boolean';
    return Object.entries(schema).every(([keyword, value]) => addKeyword(keyword, value, repeated));
  };
  const addKeyword = (keyword: string, value: unknown, repeated: boolean): boolean => {
    if (annotations.has(keyword) || keyword.startsWith('x-')) return true;
    nodes += (Array.isArray(value) ? value.length : 1) * (repeated ? (costFactors[keyword] ?? 1) : 1);
    if (limits.has(keyword))
      return (Array.isArray(value) && keyword !== 'const' ? value : [value]).every(isScalar);
    const addAll = (schemas: readonly unknown[]): boolean =>
      schemas.every((each) => addSchema(each, repeated));
    if (Object.hasOwn(costFactors, keyword))
      return Array.isArray(value) && value.length <= maxAlternatives && addAll(value);
    if (keyword === 'properties') return isObject(value) && addAll(Object.values(value));
    if (keyword === '$ref') return knownReference.test(String(value)) && addAll([partAt(root, value)]);
    return (keyword === 'items' || keyword === 'additionalProperties') && addSchema(value, true);
  };
  const isSimple = addSchema(root, false);
  const isCheap = isSimple && nodes <= maxNodes && instructions <= maxInstructions;
  return isCheap ? nodes + nodesPerInstruction * instructions : Infinity;
}

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';
