import { escapePointer } from '../common/field-problems.js';
import { isObject } from '../common/json.js';
import { messageOf } from '../common/message-of.js';
import type { JsonSchema } from './json-schema.js';
import { linearPattern } from './pattern.js';

/** Reasons why members of a schema cannot be used, by JSON pointer, or by `$ref <reference>` for all uses of a reference. */
export type Faults = ReadonlyMap<string, string>;

/** A schema that can be used, and what was changed in it. */
export interface ReadSchema {
  readonly schema: JsonSchema;
  readonly warnings: readonly string[];
}

/** Max passes over a schema. Each leaves out the faults that the previous one found. */
const maxPasses = 64;
const maxWarnings = 10;
/** Keywords whose value is an object of schemas. */
const keywordsOfMaps = new Set(
  'properties patternProperties $defs definitions dependentSchemas dependencies'.split(' '),
);
/** Keywords whose value is a list of schemas. */
const keywordsOfLists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
/** Keywords that are removed if they are an empty list. */
const removedIfEmpty = new Set(['enum', 'anyOf', 'oneOf', 'allOf', 'type', 'items']);
/** Keywords whose value is a schema. */
const keywordsOfSchemas = new Set(
  (
    'items additionalItems unevaluatedItems contains additionalProperties propertyNames unevaluatedProperties ' +
    'not if then else contentSchema'
  ).split(' '),
);
/** Pointers without which nothing of a schema would be left. */
const rootMembers = new Set(['', '/$ref']);
/** Types, each followed by its names in other languages. */
const typeNames =
  'string str text file date datetime uuid, integer int long, number num float double decimal, boolean bool, ' +
  'array list tuple set, object dict map, null none';
const typeByName = new Map(
  typeNames.split(', ').flatMap((group) => group.split(' ').map((name, _, [type]) => [name, type])),
);

/**
 * Makes an almost valid schema usable. Members that cannot be used are left out, because the tool checks its input itself.
 * @param faultsOf finds the remaining faults
 * @param isTuple whether a list in `items` means `prefixItems`
 * @throws Error if a fault cannot be left out
 */
export function readSchema(
  given: JsonSchema,
  faultsOf: (schema: JsonSchema) => Faults,
  isTuple = false,
): ReadSchema {
  const warnings = new Set<string>();
  let schema = given;
  let faults: Faults = new Map();
  for (let pass = 0; pass < maxPasses; pass++) {
    schema = new SchemaReader(faults, warnings, isTuple).schema(schema, '') as JsonSchema;
    faults = faultsOf(schema);
    if (faults.size === 0) break;
  }
  const [fault] = faults;
  if (fault) throw new Error(`${fault[0]} ${fault[1]}`);
  const all = [...warnings];
  if (all.length > maxWarnings) all.splice(maxWarnings, Infinity, `and ${all.length - maxWarnings} more`);
  return { schema, warnings: all };
}

type Members = Record<string, unknown>;
/** Replaces a member, or removes it if the value is undefined, with a warning that it is read `as` that. */
type Replace = (name: string, value: unknown, as?: string) => void;

class SchemaReader {
  /** Number of members that were left out so far. */
  private leftOut = 0;

  constructor(
    private readonly faults: Faults,
    private readonly warnings: Set<string>,
    /** Whether a list in `items` means `prefixItems`. */
    private readonly isTuple: boolean,
  ) {}

  /** Reads one schema. @param at its JSON pointer */
  schema(given: unknown, at: string): unknown {
    const fault = this.faults.get(at);
    if (typeof given === 'boolean' && fault === undefined) return given;
    if (!isObject(given) || fault !== undefined) {
      this.leaveOut(at, fault ?? 'it is no schema');
      return true;
    }
    const node = this.normalised({ ...given }, at);
    const result = Object.fromEntries(
      Object.entries(node).flatMap(([name, value]) => this.member(name, value, at)),
    );
    // Names that match only a pattern that was left out would now count as additional.
    if (sizeOf(result['patternProperties']) < sizeOf(node['patternProperties']))
      for (const name of ['additionalProperties', 'unevaluatedProperties']) delete result[name];
    return result;
  }

  /** Leaves out a member with a warning. @returns no entries @throws Error if nothing would be left */
  private leaveOut(at: string, why: string): [] {
    if (rootMembers.has(at)) throw new Error(`${at} ${why}`);
    this.leftOut++;
    this.warnings.add(`${at} of its inputSchema is left out (${why}): the tool checks it itself`);
    return [];
  }

  /** Reads one member. @returns its entry, or none if it is left out */
  private member(name: string, value: unknown, parent: string): [string, unknown][] {
    const at = `${parent}/${escapePointer(name)}`;
    const leftOutBefore = this.leftOut;
    const entries = this.entriesOf(name, value, at);
    if (this.leftOut === leftOutBefore || !['not', 'if', 'oneOf'].includes(name)) return entries;
    // A `not`, `if` or `oneOf` without one of its parts would refuse more inputs.
    return name === 'oneOf' ? entries.map(([, branches]) => ['anyOf', branches]) : [];
  }

  /** Reads the schemas in a member. @returns the member's entry, or none if it is left out */
  private entriesOf(name: string, value: unknown, at: string): [string, unknown][] {
    const refFault = typeof value === 'string' ? this.faults.get(`${name} ${value}`) : undefined;
    const faultOfValue = name === 'pattern' ? patternFault(value) : refFault;
    const fault = this.faults.get(at) ?? faultOfValue;
    if (fault !== undefined) return this.leaveOut(at, fault);
    if (keywordsOfMaps.has(name) && isObject(value)) return [[name, this.mapOfSchemas(name, value, at)]];
    if (Array.isArray(value) && (keywordsOfLists.has(name) || name === 'items'))
      return [[name, value.map((each, place) => this.schema(each, `${at}/${place}`))]];
    if (keywordsOfSchemas.has(name)) return [[name, this.schema(value, at)]];
    // The value is no schema, of which a part could be left out: it is left out as a whole.
    const faultInside = [...this.faults].find(([pointer]) => pointer.startsWith(`${at}/`));
    return faultInside ? this.leaveOut(at, faultInside[1]) : [[name, value]];
  }

  private mapOfSchemas(name: string, members: JsonSchema, at: string): JsonSchema {
    const entries = Object.entries(members).flatMap(([key, each]) => {
      const pointer = `${at}/${escapePointer(key)}`;
      const fault = name === 'patternProperties' ? patternFault(key) : undefined;
      if (fault !== undefined) return this.leaveOut(pointer, fault);
      // `dependencies` may also list names.
      return [[key, name === 'dependencies' && Array.isArray(each) ? each : this.schema(each, pointer)]];
    });
    return Object.fromEntries(entries) as JsonSchema;
  }

  /** Rewrites members of older drafts, of OpenAPI and of other languages to those of draft 2020-12. */
  private normalised(node: Members, at: string): Members {
    const replace: Replace = (name, value, as = JSON.stringify(value) ?? 'absent') => {
      this.warnings.add(`${at}/${name} of its inputSchema is read as ${as}`);
      if (value === undefined) delete node[name];
      else node[name] = value;
    };
    for (const [name, value] of Object.entries(node))
      if (
        Array.isArray(value) &&
        value.length === 0 &&
        (removedIfEmpty.has(name) || keywordsOfMaps.has(name))
      )
        replace(name, keywordsOfMaps.has(name) ? {} : undefined);
    const { items, additionalItems, id } = node;
    if (this.isTuple && Array.isArray(items)) {
      replace('items', additionalItems, 'prefixItems');
      node['prefixItems'] = items;
      delete node['additionalItems'];
    }
    if (typeof id === 'string' && id.startsWith('#')) node['$anchor'] ??= id.slice(1);
    if (typeof id === 'string') replace('id', undefined);
    this.normaliseType(node, at, replace);
    normaliseLimits(node, replace);
    normaliseNullable(node);
    normaliseRequired(node, replace);
    return node;
  }

  /** Replaces types by their names in JSON Schema. @throws Error for a type of the whole input that is none */
  private normaliseType(node: Members, at: string, replace: Replace): void {
    const given = node['type'];
    const type = normalType(given);
    if (type === undefined && at === '' && given !== undefined && given !== 'any')
      throw new Error(`/type ${JSON.stringify(given)} is no type`);
    const unknown = unknownType(given);
    if (unknown !== undefined) {
      this.warnings.add(`${at}/type of its inputSchema: ${unknown} is no JSON type, so all values pass`);
      delete node['type'];
    } else if (JSON.stringify(type) !== JSON.stringify(given)) replace('type', type);
  }
}

/** The reason why a pattern cannot be used; undefined if it can. */
function patternFault(pattern: unknown): string | undefined {
  try {
    linearPattern(String(pattern));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

const sizeOf = (members: unknown): number => Object.keys(members ?? {}).length;

/** The first of the types that is neither one of JSON nor `any`, as JSON. */
function unknownType(given: unknown): string | undefined {
  const types: unknown[] = [given ?? []].flat();
  const isKnown = (type: unknown): boolean =>
    type === 'any' || (typeof type === 'string' && typeByName.has(type.toLowerCase()));
  return JSON.stringify(types.find((type) => !isKnown(type)));
}

/** The types with their names in JSON Schema; undefined if all are allowed or one is unknown. */
function normalType(given: unknown): unknown {
  const types: unknown[] = [given ?? []].flat();
  const known = new Set(types.map((type) => typeof type === 'string' && typeByName.get(type.toLowerCase())));
  if (known.size === 0 || known.has(undefined) || known.has(false)) return undefined;
  return Array.isArray(given) ? [...known] : [...known][0];
}

/** In draft-04 and OpenAPI 3.0 `exclusiveMinimum: true` changes the meaning of `minimum`; later it is a limit itself. */
function normaliseLimits(node: Members, replace: Replace): void {
  for (const limit of ['Minimum', 'Maximum']) {
    const [name, exclusive] = [limit.toLowerCase(), `exclusive${limit}`];
    if (typeof node[exclusive] !== 'boolean') continue;
    const isExclusive = node[exclusive] && typeof node[name] === 'number';
    replace(exclusive, isExclusive ? node[name] : undefined);
    if (isExclusive) delete node[name];
  }
}

/** Replaces `nullable: true` of OpenAPI 3.0 by the type null. */
function normaliseNullable(node: Members): void {
  const { nullable, type, enum: values } = node;
  delete node['nullable'];
  if (nullable !== true) return;
  if (Array.isArray(values)) node['enum'] = [...new Set<unknown>(values).add(null)];
  if (type !== undefined) node['type'] = [...new Set([type, 'null'].flat())];
  const combined = Object.entries(node).filter(([name]) => name === '$ref' || keywordsOfLists.has(name));
  if (type !== undefined || combined.length === 0) return;
  for (const [name] of combined) delete node[name];
  node['anyOf'] = [Object.fromEntries(combined), { type: 'null' }];
}

/** Adds properties with `required: true` to the object's list of required names. */
function normaliseRequired(node: Members, replace: Replace): void {
  const { properties, required } = node;
  if (typeof required === 'boolean') delete node['required'];
  const listed = typeof required === 'boolean' ? [] : [required ?? []].flat();
  const marked = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, each]) =>
    isObject(each) && each['required'] === true ? [name] : [],
  );
  const all = [...new Set([...listed.filter((name) => typeof name === 'string'), ...marked])];
  if (required === null || typeof required === 'string' || all.length !== listed.length)
    replace('required', all.length > 0 ? all : undefined);
}
