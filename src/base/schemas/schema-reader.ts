import { escapePointer } from '../common/field-problems.js';
import { isObject } from '../common/json.js';
import { messageOf } from '../common/message-of.js';
import type { JsonSchema } from './json-schema.js';
import { linearPattern } from './pattern.js';

/** Members of a schema that cannot be used, with the reason: by their pointer, or `$ref …` for a reference. */
export type Faults = ReadonlyMap<string, string>;

export interface ReadSchema {
  readonly schema: JsonSchema;
  readonly warnings: readonly string[];
}

const maxPasses = 64;
const maxWarnings = 10;
const maps = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'],
]);
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const emptied = new Set(['enum', 'anyOf', 'oneOf', 'allOf', 'type', 'items']);
const single = new Set([
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedProperties', 'not', 'if', 'then', 'else', 'contentSchema'],
]);
/** Types, with their names in programming languages and other schema languages. */
const names =
  'string str text file date datetime uuid, integer int long, number num float double decimal, boolean bool, ' +
  'array list tuple set, object dict map, null none';
const knownAs = new Map(
  names.split(', ').flatMap((all) => all.split(' ').map((name, _at, [type]) => [name, type])),
);

/**
 * Reads an almost valid schema as what it means. A member that cannot be used is left out, so that it costs itself and
 * not the tool, which checks it itself.
 * @param faultsOf finds what is still wrong. @throws Error if that cannot be left out
 */
export function readSchema(
  given: JsonSchema,
  faultsOf: (schema: JsonSchema) => Faults,
  isTuple = false,
): ReadSchema {
  const warnings = new Set<string>();
  let schema = given;
  let faults: Faults = new Map();
  for (let pass = 0; pass === 0 || (faults.size > 0 && pass < maxPasses); pass++) {
    schema = new SchemaReader(faults, warnings, isTuple).schema(schema, '') as JsonSchema;
    faults = faultsOf(schema);
  }
  const [fault] = faults;
  if (fault) throw new Error(`${fault[0]} ${fault[1]}`);
  const all = [...warnings];
  if (all.length > maxWarnings) all.splice(maxWarnings, Infinity, `and ${all.length - maxWarnings} more`);
  return { schema, warnings: all };
}

class SchemaReader {
  private leftOut = 0;

  constructor(
    private readonly faults: Faults,
    private readonly warnings: Set<string>,
    /** Whether a list of items is to be `prefixItems`. */
    private readonly isTuple: boolean,
  ) {}

  schema(given: unknown, at: string): unknown {
    const fault = this.faults.get(at);
    if (typeof given === 'boolean' && fault === undefined) return given;
    if (!isObject(given) || fault !== undefined) {
      this.without(at, fault ?? 'it is no schema');
      return true;
    }
    const node = this.meant({ ...given }, at);
    const read = Object.fromEntries(
      Object.entries(node).flatMap(([name, value]) => this.member(name, value, at)),
    );
    // A name that matches a pattern which is left out is none of the others.
    if (sizeOf(read['patternProperties']) < sizeOf(node['patternProperties']))
      for (const name of ['additionalProperties', 'unevaluatedProperties']) delete read[name];
    return read;
  }

  /** @throws Error if nothing would be left */
  private without(at: string, why: string): [] {
    if (['', '/$ref', '/type'].includes(at)) throw new Error(`${at} ${why}`);
    this.leftOut++;
    this.warnings.add(`${at} of its inputSchema is left out (${why}): the tool checks it itself`);
    return [];
  }

  /** @returns the member as it is read, or none */
  private member(name: string, value: unknown, parent: string): [string, unknown][] {
    const at = `${parent}/${escapePointer(name)}`;
    const before = this.leftOut;
    const read = this.partsOf(name, value, at);
    // Leaving out a part of these would make the schema stricter.
    if (this.leftOut === before || !['not', 'if', 'oneOf'].includes(name)) return read;
    return name === 'oneOf' ? read.map(([, branches]) => ['anyOf', branches]) : [];
  }

  private partsOf(name: string, value: unknown, at: string): [string, unknown][] {
    const own = typeof value === 'string' ? this.faults.get(`${name} ${value}`) : undefined;
    const why = this.faults.get(at) ?? (name === 'pattern' ? patternFault(value) : own);
    if (why !== undefined) return this.without(at, why);
    if (maps.has(name) && isObject(value)) return [[name, this.map(name, value, at)]];
    if (Array.isArray(value) && (lists.has(name) || name === 'items'))
      return [[name, value.map((each, place) => this.schema(each, `${at}/${place}`))]];
    if (single.has(name)) return [[name, this.schema(value, at)]];
    const within = [...this.faults].find(([pointer]) => pointer.startsWith(`${at}/`));
    return within ? this.without(at, within[1]) : [[name, value]];
  }

  private map(name: string, members: JsonSchema, at: string): JsonSchema {
    const entries = Object.entries(members).flatMap(([key, each]) => {
      const place = `${at}/${escapePointer(key)}`;
      const why = name === 'patternProperties' ? patternFault(key) : undefined;
      if (why !== undefined) return this.without(place, why);
      return [[key, name === 'dependencies' && Array.isArray(each) ? each : this.schema(each, place)]];
    });
    return Object.fromEntries(entries) as JsonSchema;
  }

  /** Reads the members of a schema as what they mean, before its parts are read. */
  private meant(node: Members, at: string): Members {
    const read = (name: string, value: unknown, as = JSON.stringify(value) ?? 'absent'): void => {
      this.warnings.add(`${at}/${name} of its inputSchema is read as ${as}`);
      if (value === undefined) delete node[name];
      else node[name] = value;
    };
    for (const [name, value] of Object.entries(node))
      if (Array.isArray(value) && value.length === 0 && (emptied.has(name) || maps.has(name)))
        read(name, maps.has(name) ? {} : undefined);
    const { items, additionalItems, id } = node;
    if (this.isTuple && Array.isArray(items)) {
      read('items', additionalItems, 'prefixItems');
      node['prefixItems'] = items;
      delete node['additionalItems'];
    }
    if (typeof id === 'string' && id.startsWith('#')) node['$anchor'] ??= id.slice(1);
    if (typeof id === 'string') read('id', undefined);
    const type = meantType(node['type']);
    if (type === undefined && at === '' && node['type'] !== undefined && node['type'] !== 'any')
      this.without('/type', `${JSON.stringify(node['type'])} is no type`);
    if (JSON.stringify(type) !== JSON.stringify(node['type'])) read('type', type);
    meantLimits(node, read);
    meantNull(node);
    meantRequired(node, read);
    return node;
  }
}

type Members = Record<string, unknown>;
type Read = (name: string, value: unknown, as?: string) => void;

function patternFault(pattern: unknown): string | undefined {
  try {
    linearPattern(String(pattern));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

const sizeOf = (members: unknown): number => Object.keys(members ?? {}).length;

/** @returns undefined if it allows all types */
function meantType(given: unknown): unknown {
  const types: unknown[] = [given ?? []].flat();
  const meant = new Set(types.map((type) => typeof type === 'string' && knownAs.get(type.toLowerCase())));
  if (meant.size === 0 || meant.has(undefined) || meant.has(false)) return undefined;
  return Array.isArray(given) ? [...meant] : [...meant][0];
}

/** In draft-04 and OpenAPI 3.0 `exclusiveMinimum: true` changes the meaning of `minimum`; later it is a limit itself. */
function meantLimits(node: Members, read: Read): void {
  for (const limit of ['Minimum', 'Maximum']) {
    const [name, exclusive] = [limit.toLowerCase(), `exclusive${limit}`];
    if (typeof node[exclusive] !== 'boolean') continue;
    const isExclusive = node[exclusive] && typeof node[name] === 'number';
    read(exclusive, isExclusive ? node[name] : undefined);
    if (isExclusive) delete node[name];
  }
}

/** OpenAPI 3.0 allows null by `nullable: true`. */
function meantNull(node: Members): void {
  const { nullable, type, enum: values } = node;
  delete node['nullable'];
  if (nullable !== true) return;
  if (Array.isArray(values)) node['enum'] = [...new Set<unknown>(values).add(null)];
  if (type !== undefined) node['type'] = [...new Set([type, 'null'].flat())];
  const combined = Object.entries(node).filter(([name]) => name === '$ref' || lists.has(name));
  if (type !== undefined || combined.length === 0) return;
  for (const [name] of combined) delete node[name];
  node['anyOf'] = [Object.fromEntries(combined), { type: 'null' }];
}

/** `required: true` in a property stands for its name in the list of the object. */
function meantRequired(node: Members, read: Read): void {
  const { properties, required } = node;
  if (typeof required === 'boolean') delete node['required'];
  const listed = typeof required === 'boolean' ? [] : [required ?? []].flat();
  const marked = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, each]) =>
    isObject(each) && each['required'] === true ? [name] : [],
  );
  const all = [...new Set([...listed.filter((name) => typeof name === 'string'), ...marked])];
  if (required === null || typeof required === 'string' || all.length !== listed.length)
    read('required', all.length > 0 ? all : undefined);
}
