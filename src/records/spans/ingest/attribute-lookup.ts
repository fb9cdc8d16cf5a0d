import { attributeNames, dialects, type Field } from './attribute-names.js';

/** Attributes of a span, of its events or of its resource, by name. */
export type Attributes = Readonly<Record<string, unknown>>;

/** End of a name that stands for a list written as one attribute per member, like `llm.input_messages.0.message.role`. */
const flatList = '.*';
/** Names of each field in the order of the search, split into an attribute and members of its value. */
const paths = new Map<Field, readonly (readonly string[])[]>(
  (Object.keys(attributeNames) as Field[]).map((field) => {
    const byDialect: Readonly<Partial<Record<string, string>>> = attributeNames[field];
    const inOrder = dialects.flatMap((dialect) => byDialect[dialect]?.split(' ') ?? []);
    return [field, inOrder.map((name) => name.split('/'))];
  }),
);
/** Fields by the attributes that may hold them, so that a lookup skips fields that a span lacks: a field has up to 40 names. */
const fieldsByName = new Map<string, Field[]>();
for (const [field, pathsOfField] of paths)
  for (const [name = ''] of pathsOfField) fieldsByName.set(name, [...(fieldsByName.get(name) ?? []), field]);
/** Max members of a flat list. */
const maxListLength = 512;
/** Max attributes that are searched for members of a flat list. */
const maxNames = 1_024;
/** Max characters of the name of an attribute of a flat list: each dot in it makes an object. */
const maxNameLength = 512;

/** Looks up fields of a span in all dialects. Parses JSON in a text once. */
export class AttributeLookup {
  /** Parsed JSON and flat lists, by name. */
  private readonly parsed = new Map<string, unknown>();
  /** Fields that the attributes may hold. */
  private readonly candidates = new Set<Field>();

  /** @param fallback lookup for missing attributes; spans may share it and its parsed values */
  constructor(
    private readonly attributes: Attributes,
    private readonly fallback?: AttributeLookup,
  ) {
    for (const name in attributes) {
      for (const field of fieldsByName.get(name) ?? []) this.candidates.add(field);
      const index = /\.\d/.exec(name);
      if (!index) continue;
      const list = name.slice(0, index.index) + flatList;
      for (const field of fieldsByName.get(list) ?? []) this.candidates.add(field);
    }
  }

  /** The first value of a field that is not empty; undefined if there is none. */
  find(field: Field): unknown {
    if (!this.mayHold(field)) return undefined;
    for (const path of paths.get(field) ?? []) {
      const value = this.at(path);
      if (!isEmpty(value)) return value;
    }
    return undefined;
  }

  /** A field as text; null if it is missing, an object or a list. */
  text(field: Field): string | null {
    const value = this.find(field);
    if (typeof value === 'string') return value;
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
  }

  /** The value at a name as the tables of names write it, like `usage/input_tokens`. */
  named(name: string): unknown {
    return this.at(name.split('/'));
  }

  /** An attribute by its exact name. */
  get(name: string): unknown {
    return Object.hasOwn(this.attributes, name) ? this.attributes[name] : this.fallback?.get(name);
  }

  private mayHold(field: Field): boolean {
    return this.candidates.has(field) || (this.fallback?.mayHold(field) ?? false);
  }

  /** The value at an attribute and members of its value. */
  private at([name = '', ...members]: readonly string[]): unknown {
    if (name.endsWith(flatList)) return this.flat(name);
    if (members.length === 0) return this.get(name);
    return members.reduce<unknown>(memberOf, this.json(name));
  }

  /** An attribute with JSON in a text parsed. */
  private json(name: string): unknown {
    if (!Object.hasOwn(this.attributes, name)) return this.fallback?.json(name);
    return this.memoised(name, () => fromJson(this.attributes[name]));
  }

  /** A flat list as nested objects: `prefix.0.message.role` becomes `[{message: {role}}]`. */
  private flat(name: string): unknown {
    const list = this.memoised(name, () => flatListIn(this.attributes, name.slice(0, -1)));
    return list ?? this.fallback?.flat(name);
  }

  private memoised(name: string, parse: () => unknown): unknown {
    if (!this.parsed.has(name)) this.parsed.set(name, parse());
    return this.parsed.get(name);
  }
}

/** The list whose members are in attributes with this prefix; undefined if there are none. @param prefix ends with a dot */
function flatListIn(attributes: Attributes, prefix: string): unknown {
  const list: Record<string, unknown>[] = [];
  let searched = 0;
  for (const name in attributes) {
    if (++searched > maxNames) break;
    if (!name.startsWith(prefix) || name.length > maxNameLength) continue;
    const [position, ...path] = name.slice(prefix.length).split('.');
    const index = Number(position);
    if (!Number.isInteger(index) || index < 0 || index >= maxListLength || path.length === 0) continue;
    put((list[index] ??= {}), path, attributes[name]);
  }
  const members = list.filter((member) => member !== undefined);
  return members.length > 0 ? members : undefined;
}

/** The value; if it is a text with the JSON of an object or list, the parsed JSON. */
export function fromJson(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** The own member of an object or list; undefined if there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

/** Sets a nested member, and the objects around it that are missing. */
function put(into: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let owner = into;
  for (const name of path.slice(0, -1)) {
    const member = Object.hasOwn(owner, name) ? owner[name] : undefined;
    if (typeof member === 'object' && member !== null) owner = member as Record<string, unknown>;
    else owner = define(owner, name, {}) as Record<string, unknown>;
  }
  define(owner, path.at(-1) ?? '', value);
}

/** Sets a member. An assignment to the name `__proto__` would set the prototype instead. */
function define(object: Record<string, unknown>, name: string, value: unknown): unknown {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  return value;
}
