import { unescape } from 'node:querystring';
import { isObject } from '../common/json.js';
import type { JsonSchema } from './json-schema.js';

/** A reference to a definition of the same schema, or to the schema itself. */
export const knownReference = /^#(\/(\$defs|definitions)\/[^/]+)?$/;

/** Returns the part of a schema that a local `$ref` names; undefined for other references, and for one to nowhere. */
export function partAt(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  const steps = reference.split('/').slice(1);
  return steps
    .map((step) => unescape(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce(memberOf, root);
}

/** An own member of an object or a list. */
export const memberOf = (part: unknown, name: string): unknown =>
  (isObject(part) || Array.isArray(part)) && Object.hasOwn(part, name)
    ? (part as JsonSchema)[name]
    : undefined;

const maxSteps = 10;

/** Follows the references of a schema within its root. @returns undefined for what is no schema, or refers to none */
export function resolved(schema: unknown, root: JsonSchema): JsonSchema | undefined {
  let own = schema;
  for (let step = 0; step < maxSteps && isObject(own) && typeof own['$ref'] === 'string'; step++) {
    if (!knownReference.test(own['$ref'])) return undefined;
    own = partAt(root, own['$ref']);
  }
  return isObject(own) && own['$ref'] === undefined ? own : undefined;
}
