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
const maxWarnings = 5;
const maps = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const single = new Set([
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedProperties', 'not', 'if', 'then', 'else', 'contentSchema'],
]);
const types = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
/** Types of programming languages and of other schema languages. */
const knownAs: Readonly<Record<string, string>> = {
  ...{ str: 'string', text: 'string', file: 'string', date: 'string', datetime: 'string', uuid: 'string' },
  ...{ int: 'integer', long: 'integer', float: 'number', double: 'number', decimal: 'number', num: 'number' },
  ...{
    bool: 'boolean',
    list: 'array',
    tuple: 'array',
    set: 'array',
    dict: 'object',
    map: 'object',
    none: 'null',
  },
};

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
  const others = warnings.size - maxWarnings;
  return {
    schema,
    warnings: [...[...warnings].slice(0, maxWarnings), ...(others > 0 ? [`and ${others} more`] : [])],
  };
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

  private without(at: string, why: string): [] {
    this.leftOut++;
    this.warnings.add(`${at} of its inputSchema is left out (${why}): the tool checks it itself`);
    return [];
  }

  /** @returns the member as it is read, or none */
  private member(name: string, value: unknown, parent: string): [string, unknown][] {
    const at = `${parent}/${escapePointer(name)}`;
    const before = this.leftOut;
    const read = this.partsOf(name, value, at);
    // What allows more within these allows less outside.
    if (this.leftOut === before || !['not', 'if', 'oneOf'].includes(name)) return read;
    return name === 'oneOf' ? read.map(([, branches]) => ['anyOf', branches]) : [];
  }

  private partsOf(name: string, value: unknown, at: string): [string, unknown][] {
    const why =
      this.faults.get(at) ?? (name === '$ref' ? this.faults.get(`$ref ${String(value)}`) : undefined);
    if (why !== undefined) return this.without(at, why);
    if (name === 'pattern') return this.isUsable(value, at) ? [[name, value]] : [];
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
      if (name === 'patternProperties' && !this.isUsable(key, place)) return [];
      return [[key, name === 'dependencies' && Array.isArray(each) ? each : this.schema(each, place)]];
    });
    return Object.fromEntries(entries) as JsonSchema;
  }

  private isUsable(pattern: unknown, at: string): boolean {
    try {
      linearPattern(String(pattern));
      return true;
    } catch (error) {
      this.without(at, messageOf(error));
      return false;
    }
  }

  private meant(node: Record<string, unknown>, at: string): Record<string, unknown> {
    const read = (name: string, value: unknown, as = JSON.stringify(value) ?? 'absent'): void => {
      this.warnings.add(`${at}/${name} of its inputSchema is read as ${as}`);
      if (value === undefined) delete node[name];
      else node[name] = value;
    };
    for (const name of ['enum', 'anyOf', 'oneOf', 'allOf', 'type', 'items'])
      if (Array.isArray(node[name]) && node[name].length === 0) read(name, undefined);
    for (const name of maps) if (Array.isArray(node[name]) && node[name].length === 0) read(name, {});
    if (this.isTuple && Array.isArray(node['items'])) {
      const { items, additionalItems } = node;
      read('items', additionalItems, 'prefixItems');
      node['prefixItems'] = items;
      delete node['additionalItems'];
    }
    const { id } = node;
    if (typeof id === 'string' && id.startsWith('#')) node['$anchor'] ??= id.slice(1);
    if (typeof id === 'string') read('id', undefined);
    meantLimits(node, read);
    meantType(node, read);
    meantRequired(node, read);
    return node;
  }
}

const sizeOf = (members: unknown): number => Object.keys(members ?? {}).length;

type Read = (name: string, value: unknown, as?: string) => void;

/** In draft-04 and OpenAPI 3.0 `exclusiveMinimum: true` changes the meaning of `minimum`; later it is a limit itself. */
function meantLimits(node: Record<string, unknown>, read: Read): void {
  for (const limit of ['Minimum', 'Maximum']) {
    const [name, exclusive] = [limit.toLowerCase(), `exclusive${limit}`];
    if (typeof node[exclusive] !== 'boolean') continue;
    const isExclusive = node[exclusive] && typeof node[name] === 'number';
    read(exclusive, isExclusive ? node[name] : undefined);
    if (isExclusive) delete node[name];
  }
}

function meantType(node: Record<string, unknown>, read: Read): void {
  const given = [node['type'] ?? []].flat();
  const meant = given.map((type) => {
    const name = String(type).toLowerCase();
    return types.has(name) ? name : knownAs[name];
  });
  if ('type' in node && (meant.length === 0 || given.some((type, place) => type !== meant[place])))
    read(
      'type',
      meant.length === 0 || meant.includes(undefined)
        ? undefined
        : meant.length === 1
          ? meant[0]
          : [...new Set(meant)],
    );
  const { nullable, type, enum: values } = node;
  if (!('nullable' in node)) return;
  delete node['nullable'];
  if (nullable !== true) return;
  if (type !== undefined) node['type'] = [...new Set([type, 'null'].flat())];
  if (Array.isArray(values) && !values.includes(null)) node['enum'] = [...values, null];
  const combined = ['$ref', 'allOf', 'anyOf', 'oneOf'].filter((name) => name in node);
  if (type !== undefined || combined.length === 0) return;
  const inner = Object.fromEntries(combined.map((name) => [name, node[name]]));
  for (const name of combined) delete node[name];
  node['anyOf'] = [inner, { type: 'null' }];
}

/** `required: true` in a property stands for its name in the list of the object. */
function meantRequired(node: Record<string, unknown>, read: Read): void {
  const { properties, required } = node;
  const marked = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, each]) =>
    isObject(each) && each['required'] === true ? [name] : [],
  );
  const listed = [typeof required === 'boolean' ? [] : (required ?? [])].flat();
  const names = [...new Set([...listed.filter((name) => typeof name === 'string'), ...marked])];
  if (typeof required === 'boolean') delete node['required'];
  if (required === null) read('required', undefined);
  if (names.length !== listed.length || typeof required === 'string') read('required', names);
}
