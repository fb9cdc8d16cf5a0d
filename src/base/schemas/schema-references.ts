import { unescape } from 'node:querystring';
import { unescapePointer } from '../common/field-problems.js';
import { isObject } from '../common/json.js';
import type { JsonSchema } from './json-schema.js';

/** A reference to a definition of the same schema, or to the schema itself. */
export const knownReference = /^#(\/(\$defs|definitions)\/[^/]+)?$/;

/** The part of a schema that a local `$ref` names; undefined for other references, and for one that leads nowhere. */
export function partAt(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  const steps = reference.split('/').slice(1);
  return steps.map((step) => unescapePointer(unescape(step))).reduce(memberOf, root);
}

/** An own member of an object or a list; undefined if there is none. */
export const memberOf = (part: unknown, name: string): unknown =>
  (isObject(part) || Array.isArray(part)) && Object.hasOwn(part, name)
    ? (part as JsonSchema)[name]
    : undefined;

/** Max references in a row, so that circular ones end. */
const maxSteps = 10;

/** The schema after following its `$ref`s within the root; undefined if it is no object, or a reference leads elsewhere. */
export function resolved(schema: unknown, root: JsonSchema): JsonSchema | undefined {
  let target = schema;
  for (let step = 0; step < maxSteps && isObject(target) && typeof target['$ref'] === 'string'; step++) {
    if (!knownReference.test(target['$ref'])) return undefined;
    target = partAt(root, target['$ref']);
  }
  return isObject(target) && target['$ref'] === undefined ? target : undefined;
}
