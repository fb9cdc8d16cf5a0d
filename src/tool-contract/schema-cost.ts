import { isObject } from '../common/json.js';
import { knownReference, partAt } from './schema-references.js';
import type { JsonSchema } from './tool.js';

/** Keywords that check nothing. Definitions count where they are referred to. */
const annotations = new Set([
  ...['title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['$comment', 'format', 'contentEncoding', 'contentMediaType', 'discriminator', '$defs', 'definitions'],
]);
/** Keywords that look at a value once, whatever its members are. */
const limits = new Set([
  ...['type', 'nullable', 'required', 'enum', 'const', 'pattern', 'multipleOf', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minProperties', 'maxProperties'],
]);
const combinators = new Set(['anyOf', 'oneOf', 'allOf']);
const maxAlternatives = 16;
/** Compiling so many takes some 50 ms. */
const maxNodes = 1_000;
const maxInstructions = 1_000;
/** A step of a pattern's automaton that is made first costs so many times what a keyword does. */
const nodesPerInstruction = 8;

/**
 * The most checks that a byte of an input may cost. In a simple schema, with its references written out, each node
 * is asked once at most about each value.
 * @param instructions of the automata of its patterns
 * @returns Infinity if a keyword of the schema is not on the lists above, or if it is too large or recursive
 */
export function costPerByte(root: JsonSchema, instructions: number): number {
  let nodes = 0;
  const isSimple = (schema: unknown): boolean => {
    // Ends the walk of a recursive schema, too.
    if (++nodes > maxNodes) return false;
    return isObject(schema) ? Object.entries(schema).every(isSimpleKeyword) : typeof schema === 'boolean';
  };
  const isSimpleKeyword = ([keyword, value]: [string, unknown]): boolean => {
    if (annotations.has(keyword) || keyword.startsWith('x-')) return true;
    nodes += Array.isArray(value) ? value.length : 1;
    if (limits.has(keyword))
      return (Array.isArray(value) && keyword !== 'const' ? value : [value]).every(isScalar);
    if (combinators.has(keyword))
      return Array.isArray(value) && value.length <= maxAlternatives && value.every(isSimple);
    if (keyword === 'properties') return isObject(value) && Object.values(value).every(isSimple);
    if (keyword === '$ref') return knownReference.test(String(value)) && isSimple(partAt(root, value));
    return (keyword === 'items' || keyword === 'additionalProperties') && isSimple(value);
  };
  const isCheap = isSimple(root) && nodes <= maxNodes && instructions <= maxInstructions;
  return isCheap ? nodes + nodesPerInstruction * instructions : Infinity;
}

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';
