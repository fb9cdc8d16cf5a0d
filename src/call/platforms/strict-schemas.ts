import { isObject } from '../../base/common/json.js';
import { knownReference, resolved } from '../../base/schemas/schema-references.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';

/*
 * OpenAI's strict mode supports a part of JSON Schema: all objects are closed, and all members are required. An optional
 * member becomes one that may be null, and the door reads the null as absent.
 */

const ofNumbers = ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
/** Keywords that strict mode supports. The validation of the call checks all others. */
const supported = ['title', 'description', ...ofNumbers, 'minItems', 'maxItems'];
const ofReferences = ['$dynamicRef', '$anchor', '$dynamicAnchor', '$id'];
const ofMembers = ['dependentSchemas', 'patternProperties', 'prefixItems', 'unevaluatedItems'];
/** Keywords that strict mode does not support and that may restrict a value further. */
const beyondStrict = ['allOf', 'if', ...ofMembers, ...ofReferences];
/** Keywords with schemas that others refer to. */
const definitions = ['$defs', 'definitions'] as const;
/** Limits of strict mode. */
const maxLevels = 10;
const maxEnumMembers = 1_000;
const maxAlternatives = 16;

/** Thrown if a schema has no strict form. */
class NotStrict extends Error {}

/** An object's schema in OpenAI's strict form; undefined if it has none. */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  try {
    const progress = { root: schema, members: 0 };
    const root = strictObject(schema, 1, progress);
    for (const place of definitions) {
      if (!isObject(schema[place])) continue;
      const shared = Object.entries(schema[place]);
      root[place] = Object.fromEntries(shared.map(([name, each]) => [name, strictForm(each, 1, progress)]));
    }
    return progress.members > maxEnumMembers ? undefined : root;
  } catch (error) {
    if (error instanceof NotStrict) return undefined;
    throw error;
  }
}

interface Progress {
  readonly root: JsonSchema;
  /** Members of all enums together. */
  members: number;
}

/** A schema in strict form. @throws NotStrict if it has none */
function strictForm(schema: unknown, level: number, progress: Progress): Record<string, unknown> {
  if (!isObject(schema) || level > maxLevels || beyondStrict.some((keyword) => keyword in schema))
    throw new NotStrict();
  const { $ref, anyOf = schema['oneOf'], type, enum: members } = schema;
  if ($ref !== undefined) {
    if (typeof $ref !== 'string' || !knownReference.test($ref)) throw new NotStrict();
    return { $ref };
  }
  if (Array.isArray(anyOf)) {
    const isUnclear = withMembers(anyOf).length > 1 && withMembers(anyOf).some(hasOptional);
    const isNested = anyOf.some((each) => hasAlternatives(resolved(each, progress.root)));
    if ('properties' in schema || isUnclear || isNested || anyOf.length > maxAlternatives)
      throw new NotStrict();
    return { ...supportedIn(schema), anyOf: anyOf.map((each) => strictForm(each, level, progress)) };
  }
  const constant = 'const' in schema ? [schema['const']] : undefined;
  const values = Array.isArray(members) ? members : constant;
  if (values) {
    progress.members += values.length;
    if (values.some((value) => typeof value === 'object' && value !== null)) throw new NotStrict();
    return { ...supportedIn(schema), type: type ?? typesOf(values), enum: values };
  }
  const types = [type].flat();
  if (types.some((each) => typeof each !== 'string')) throw new NotStrict();
  if (types.includes('object')) return { ...strictObject(schema, level, progress), type };
  if (!types.includes('array')) return { ...supportedIn(schema), type };
  return { ...supportedIn(schema), type, items: strictForm(schema['items'], level + 1, progress) };
}

/** A closed object. One without named members, or that allows others, has no strict form. */
function strictObject(schema: JsonSchema, level: number, progress: Progress): Record<string, unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = Object.entries(properties as Record<string, unknown>);
  const isOpen = members.length === 0 ? additionalProperties !== false : Boolean(additionalProperties);
  const unsupported = [...beyondStrict, 'anyOf', 'oneOf', '$ref'];
  const isUnknown = (name: unknown): boolean => !members.some(([member]) => member === name);
  if (isOpen || level > maxLevels || unsupported.some((keyword) => keyword in schema)) throw new NotStrict();
  if ((required as unknown[]).some(isUnknown)) throw new NotStrict();
  const closed = members.map(([name, member]) => {
    const form = strictForm(member, level + 1, progress);
    return [name, (required as string[]).includes(name) ? form : nullable(form)] as const;
  });
  return {
    ...supportedIn(schema),
    type: 'object',
    properties: Object.fromEntries(closed),
    required: members.map(([name]) => name),
    additionalProperties: false,
  };
}

function nullable(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: members, anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...withNull(anyOf as object[], { type: 'null' })] };
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] };
  return {
    ...schema,
    type: withNull([type].flat(), 'null'),
    ...(Array.isArray(members) && { enum: withNull(members, null) }),
  };
}

const withNull = <T>(values: readonly T[], none: T): T[] =>
  values.some((value) => JSON.stringify(value) === JSON.stringify(none)) ? [...values] : [...values, none];

const supportedIn = (schema: JsonSchema): Record<string, unknown> =>
  Object.fromEntries(supported.flatMap((keyword) => (keyword in schema ? [[keyword, schema[keyword]]] : [])));

function typesOf(values: readonly unknown[]): string | string[] {
  const [type = 'null', ...others] = new Set(values.map((value) => (value === null ? 'null' : typeof value)));
  return others.length === 0 ? type : [type, ...others];
}

/** The alternatives that have members: if there are several, it is not known which one a value means. */
const withMembers = (alternatives: readonly unknown[]): unknown[] =>
  alternatives.filter(
    (each) => isObject(each) && ('properties' in each || 'items' in each || '$ref' in each),
  );

const hasAlternatives = (schema: JsonSchema | undefined): boolean =>
  schema !== undefined && ('anyOf' in schema || 'oneOf' in schema);

const hasOptional = (schema: unknown): boolean => {
  if (!isObject(schema)) return false;
  const { properties = {}, required = [], items, $ref } = schema;
  const names = Object.keys(properties as object);
  return $ref !== undefined || items !== undefined || names.length > (required as string[]).length;
};
