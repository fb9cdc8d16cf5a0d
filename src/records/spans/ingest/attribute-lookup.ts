import { attributeNames, dialects, type Field } from './attribute-names.js';

export type Attributes = Readonly<Record<string, unknown>>;

const flatList = '.*';
/** Names of a field in the order in which they are looked for. */
const names = new Map<Field, readonly (readonly string[])[]>(
  (Object.keys(attributeNames) as Field[]).map((field) => {
    const byDialect: Readonly<Partial<Record<string, string>>> = attributeNames[field];
    const inOrder = dialects.flatMap((dialect) => byDialect[dialect]?.split(' ') ?? []);
    return [field, inOrder.map((name) => name.split('/'))];
  }),
);
/** Fields by the attributes that may hold them: a span has few attributes, and a field has up to forty names. */
const fieldsByName: ReadonlyMap<string, readonly { readonly field: Field }[]> = Map.groupBy(
  [...names].flatMap(([field, paths]) => paths.map(([name = '']) => ({ field, name }))),
  ({ name }) => name,
);
/** Longer lists are cut: a sender that writes them flat has an attribute for each member. */
const maxListLength = 512;
/** Names that are looked through for flat lists; and the length of a name, of which each dot makes an object. */
const maxNames = 1_024;
const maxNameLength = 512;

/** Looks up a field of a span in all dialects. JSON in text is parsed once. */
export class AttributeLookup {
  private readonly read = new Map<string, unknown>();
  private readonly held = new Set<Field>();

  /** @param next fallback for missing attributes; spans may share it and its parsed values */
  constructor(
    private readonly attributes: Attributes,
    private readonly next?: AttributeLookup,
  ) {
    for (const name in attributes) {
      for (const { field } of fieldsByName.get(name) ?? []) this.held.add(field);
      const inList = /\.\d/.exec(name);
      if (!inList) continue;
      const list = name.slice(0, inList.index) + flatList;
      for (const { field } of fieldsByName.get(list) ?? []) this.held.add(field);
    }
  }

  /** @returns the first non-empty value; undefined if there is none */
  find(field: Field): unknown {
    if (!this.mayHold(field)) return undefined;
    for (const path of names.get(field) ?? []) {
      const value = this.at(path);
      if (saysSomething(value)) return value;
    }
    return undefined;
  }

  /** The value at a name of the tables. */
  named(name: string): unknown {
    return this.at(name.split('/'));
  }

  /** An attribute by its own name. */
  get(name: string): unknown {
    return Object.hasOwn(this.attributes, name) ? this.attributes[name] : this.next?.get(name);
  }

  text(field: Field): string | null {
    const value = this.find(field);
    if (typeof value === 'string') return value;
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
  }

  private mayHold(field: Field): boolean {
    return this.held.has(field) || (this.next?.mayHold(field) ?? false);
  }

  private at([name = '', ...members]: readonly string[]): unknown {
    if (name.endsWith(flatList)) return this.flat(name);
    if (members.length === 0) return this.get(name);
    return members.reduce<unknown>(memberOf, this.json(name));
  }

  private json(name: string): unknown {
    if (!Object.hasOwn(this.attributes, name)) return this.next?.json(name);
    return this.once(name, () => fromJson(this.attributes[name]));
  }

  /** `prefix.0.message.role` and its like as [{message: {role}}]. */
  private flat(name: string): unknown {
    return this.once(name, () => flatListIn(this.attributes, name.slice(0, -1))) ?? this.next?.flat(name);
  }

  private once(name: string, make: () => unknown): unknown {
    if (!this.read.has(name)) this.read.set(name, make());
    return this.read.get(name);
  }
}

/** @param prefix with its dot */
function flatListIn(attributes: Attributes, prefix: string): unknown {
  const list: Record<string, unknown>[] = [];
  let looked = 0;
  for (const name in attributes) {
    if (++looked > maxNames) break;
    if (!name.startsWith(prefix) || name.length > maxNameLength) continue;
    const [place, ...path] = name.slice(prefix.length).split('.');
    const index = Number(place);
    if (!Number.isInteger(index) || index < 0 || index >= maxListLength || path.length === 0) continue;
    put((list[index] ??= {}), path, attributes[name]);
  }
  const members = list.filter((member) => member !== undefined);
  return members.length > 0 ? members : undefined;
}

/** The value itself, or what its text holds where that is JSON of an object or list. */
export function fromJson(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** The member of an object, or of a list. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

const saysSomething = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

function put(into: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = into;
  for (const name of path.slice(0, -1)) {
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    if (typeof next === 'object' && next !== null) at = next as Record<string, unknown>;
    else at = define(at, name, {}) as Record<string, unknown>;
  }
  define(at, path.at(-1) ?? '', value);
}

/** Also of `__proto__`, which assigning would take for the prototype. */
function define(object: Record<string, unknown>, name: string, value: unknown): unknown {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  return value;
}
