import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { isObject } from '../../base/common/json.js';
import { knownReference, partAt } from '../../base/schemas/schema-references.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { PlatformNames, propertyNames } from './platform-names.js';

/*
 * Schemas for agent platforms. A platform refuses a whole request for one schema with a combinator at its root, an unusual
 * property name, or a keyword of an older draft. The platform's schema may allow more than the tool's own, which checks
 * each call.
 */

export interface ObjectSchema extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
}

export interface PlatformSchema {
  readonly schema: ObjectSchema;
  /** Restores the tool's own property names in an input. */
  readonly restored: (input: unknown) => unknown;
}

/** Keywords whose values are data, not schemas. */
const valueKeywords = new Set(['const', 'enum', 'default', 'example', 'examples']);
/** Keywords with schemas by name. */
const mapKeywords = new Set(['$defs', 'definitions', 'patternProperties']);
/** Keywords with values by names of properties, which get aliases. */
const propertyMapKeywords = new Set(['properties', 'dependentSchemas', 'dependentRequired', 'dependencies']);
const combinators = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'];
/** Keywords that platforms refuse at the root. */
const notAtRoot = new Set([...combinators, '$ref', 'enum', 'const', 'dependentSchemas', 'dependencies']);
/** Results by schema, because each list needs them again. */
const cache = new WeakMap<JsonSchema, PlatformSchema>();

/** The schema of a tool's input as platforms accept it. */
export function platformSchema(schema: JsonSchema): PlatformSchema {
  const found = cache.get(schema) ?? platformSchemaOf(schema);
  cache.set(schema, found);
  return found;
}

/** A schema of an object whose properties are objects, as platforms need it: `true` becomes `{}`. */
export const objectSchema = (schema: JsonSchema): ObjectSchema => ({
  ...schema,
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(schema['properties'] ?? {}).map(([name, each]) => [name, asObject(each)]),
  ),
});

/** Makes the schema for platforms, and the way back for inputs. */
function platformSchemaOf(schema: JsonSchema): PlatformSchema {
  const names = new PlatformNames(new Set(propertiesIn(schema)), [propertyNames]);
  const restored = (input: unknown): unknown => {
    if (Array.isArray(input)) return input.map(restored);
    if (!isObject(input)) return input;
    /** The tool's name of a member, unless the input has one of that name, too. */
    const ownName = (name: string): string => {
      const owner = names.ownerOf(name) ?? name;
      return Object.hasOwn(input, owner) ? name : owner;
    };
    return Object.fromEntries(Object.entries(input).map(([name, value]) => [ownName(name), restored(value)]));
  };
  return { schema: withAllProperties(rewritten(schema, names)), restored };
}

/** The schema with keywords of draft 2020-12, aliases of property names, and references into `$defs` only. */
function rewritten(root: JsonSchema, names: PlatformNames): JsonSchema {
  /** Parts that references point to, for `$defs`. */
  const shared = new Map<string, unknown>();
  const alias = (name: string): string => names.shown(name, propertyNames);
  const reference = (pointer: string): string => {
    if (!pointer.startsWith('#/') || knownReference.test(pointer)) return pointer;
    const name = `part_${sha256(pointer).slice(0, 16)}`;
    if (!shared.has(name)) {
      // Set before the part is rewritten, which may refer to itself.
      shared.set(name, {});
      shared.set(name, rewrite(partAt(root, pointer)));
    }
    return `#/$defs/${name}`;
  };
  const rewriteMember = ([name, value]: [string, unknown]): [string, unknown] => {
    if (valueKeywords.has(name)) return [name, value];
    if (name === '$ref' && typeof value === 'string') return [name, reference(value)];
    if (!isObject(value) || !(mapKeywords.has(name) || propertyMapKeywords.has(name)))
      return [name, rewrite(value)];
    const entries = Object.entries(value).map(([key, each]) => [
      mapKeywords.has(name) ? key : alias(key),
      rewrite(each),
    ]);
    return [name, Object.fromEntries(entries)];
  };
  // Texts in lists are names of properties, or of types, which have no alias.
  const rewrite = (schema: unknown): unknown => {
    if (Array.isArray(schema))
      return schema.map((each) => (typeof each === 'string' ? alias(each) : rewrite(each)));
    return isObject(schema)
      ? Object.fromEntries(Object.entries(withItems(schema)).map(rewriteMember))
      : schema;
  };
  const { $schema: _dialect, ...schema } = rewrite(root) as JsonSchema;
  if (shared.size === 0) return schema;
  return { ...schema, $defs: { ...(schema['$defs'] as object), ...Object.fromEntries(shared) } };
}

/** Adds `items`: OpenAI refuses a list without them, Anthropic those of draft 7. */
function withItems({ items, additionalItems, ...schema }: JsonSchema): JsonSchema {
  if (Array.isArray(items)) return { ...schema, prefixItems: items, items: additionalItems ?? {} };
  if (items !== undefined) return { ...schema, items };
  return [schema['type']].flat().includes('array') ? { ...schema, items: {} } : schema;
}

/** The properties in a part of a schema. */
interface Members {
  readonly properties: readonly [name: string, schema: unknown][];
  readonly required: readonly string[];
}

/** Moves the properties of all parts to the root. A property is required if all alternatives require it. */
function withAllProperties(schema: JsonSchema): ObjectSchema {
  const seen = new Set<unknown>();
  const membersOf = (part: unknown): Members => {
    if (!isObject(part) || seen.has(part)) return { properties: [], required: [] };
    seen.add(part);
    const { $ref, properties, required = [] } = part;
    const all = [partAt(schema, $ref), ...listOf(part['allOf'])].map(membersOf);
    const choices = [part['anyOf'], part['oneOf']].map((each) => listOf(each).map(membersOf));
    const conditions = Object.values({
      ...(part['dependentSchemas'] as object),
      ...(part['dependencies'] as object),
    });
    const optional = [part['then'], part['else'], ...conditions].map(membersOf);
    const parts = [...all, ...choices.flat(), ...optional];
    return {
      properties: [...Object.entries(properties ?? {}), ...parts.flatMap((each) => each.properties)],
      required: [
        required as string[],
        ...all.map((each) => each.required),
        ...choices.map(requiredInEach),
      ].flat(),
    };
  };
  const { properties, required } = membersOf(schema);
  const merged = [...Map.groupBy(properties, ([name]) => name)].map(([name, same]) => {
    const [first, ...others] = new Map(
      same.map(([, each]) => [canonicalJson(each), asObject(each)]),
    ).values();
    return [name, others.length === 0 ? first : { anyOf: [first, ...others] }];
  });
  const root = { ...(partAt(schema, schema['$ref']) as object), ...schema };
  return {
    ...Object.fromEntries(Object.entries(root).filter(([keyword]) => !notAtRoot.has(keyword))),
    type: 'object',
    properties: Object.fromEntries(merged) as ObjectSchema['properties'],
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

/** Properties that all alternatives require. */
const requiredInEach = ([first, ...others]: readonly Members[]): string[] =>
  first?.required.filter((name) => others.every(({ required }) => required.includes(name))) ?? [];

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** A schema as an object: `false` allows nothing, `true` anything. */
function asObject(schema: unknown): object {
  if (isObject(schema)) return schema;
  return schema === false ? { not: {} } : {};
}

/** Names of properties, in each part of a schema. */
function propertiesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as JsonSchema;
  return [
    ...(isObject(properties) ? Object.keys(properties) : []),
    ...Object.values(schema).flatMap(propertiesIn),
  ];
}
