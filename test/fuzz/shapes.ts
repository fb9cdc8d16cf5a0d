import type { Json } from '../support/json.js';

/** A schema and an input that may cost more than they look like. */
export interface Case {
  readonly what: string;
  readonly schema: Json;
  readonly input: unknown;
}

/** Makes a case whose schema has about `schemaBytes` and whose input about `inputBytes`. */
export type Shape = (schemaBytes: number, inputBytes: number) => Omit<Case, 'what'>;

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: Math.max(1, Math.floor(count)) }, (_, n) => make(n));

const named = (count: number, make: (n: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(times(count, (n) => [`p${n}`, make(n)]));

const repeated = (value: unknown, bytes: number): unknown[] =>
  times(bytes / (JSON.stringify(value).length + 1), () => value);

/** Levels of a chain in which each refers to the next twice: each doubles the work. */
function chain(levels: number): Json {
  const link = (n: number) => ({ $ref: `#/$defs/d${n + 1}` });
  const defs = times(levels, (n) => [`d${n}`, { allOf: [link(n), link(n)] }] as const);
  return { $defs: { ...Object.fromEntries(defs), [`d${defs.length}`]: {} }, $ref: '#/$defs/d0' };
}

function nested(levels: number, inner: unknown, wrap: (inner: unknown) => unknown): unknown {
  return levels <= 0 ? inner : wrap(nested(levels - 1, inner, wrap));
}

const letters = (bytes: number): string => 'abbabaab'.repeat(Math.ceil(bytes / 8)).slice(0, bytes);

/** What has blocked the event loop of a gateway, or killed it, and what is akin to it. */
export const shapes: Record<string, Shape> = {
  'a definition referred to everywhere': (schemaBytes) => ({
    schema: {
      $defs: { a: { properties: named(schemaBytes / 100, () => ({ type: 'string', minLength: 1 })) } },
      allOf: times(schemaBytes / 40, () => ({ $ref: '#/$defs/a' })),
    },
    input: {},
  }),
  'patterns with large programs': (schemaBytes, inputBytes) => ({
    schema: { allOf: times(schemaBytes / 34, (n) => ({ pattern: `(a|b|c|d){1000}${n}` })) },
    input: letters(inputBytes),
  }),
  'unique numbers': (_, inputBytes) => ({
    schema: { type: 'array', uniqueItems: true },
    input: times(inputBytes / 7, (n) => n),
  }),
  'unique arrays': (_, inputBytes) => ({
    schema: { type: 'array', items: { type: 'array' }, uniqueItems: true },
    input: times(inputBytes / 8, (n) => [n]),
  }),
  'unique rows, nested': (_, inputBytes) => ({
    schema: { items: { $ref: '#' }, uniqueItems: true },
    input: nested(
      50,
      times(inputBytes / 9, (n) => [n]),
      (inner) => [inner],
    ),
  }),
  'rows without what is required': (schemaBytes, inputBytes) => ({
    schema: {
      type: 'array',
      items: { type: 'object', required: times(schemaBytes / 12, (n) => `field${n}`) },
    },
    input: repeated({}, inputBytes),
  }),
  'a long enum of objects': (schemaBytes, inputBytes) => ({
    schema: { items: { enum: times(schemaBytes / 14, (n) => ({ a: n })) } },
    input: repeated({ a: Math.max(0, Math.floor(schemaBytes / 14) - 1) }, inputBytes),
  }),
  'many constants': (schemaBytes, inputBytes) => ({
    schema: { items: { anyOf: times(schemaBytes / 18, (n) => ({ const: [n] })) } },
    input: repeated([1], inputBytes),
  }),
  'one large constant': (schemaBytes, inputBytes) => ({
    schema: { items: { not: { const: named(schemaBytes / 10, (n) => n) } } },
    input: repeated({}, inputBytes),
  }),
  'rules that all fail': (schemaBytes, inputBytes) => ({
    schema: { items: { allOf: times(schemaBytes / 16, () => ({ type: 'null' })) } },
    input: repeated(0, inputBytes),
  }),
  'rules that all pass': (schemaBytes, inputBytes) => ({
    schema: { items: { allOf: times(schemaBytes / 20, () => ({ type: 'number' })) } },
    input: repeated(0, inputBytes),
  }),
  'branches of which the last passes': (schemaBytes, inputBytes) => ({
    schema: { items: { anyOf: [...times(schemaBytes / 16, () => ({ type: 'null' })), { type: 'number' }] } },
    input: repeated(0, inputBytes),
  }),
  'branches of which none may pass': (schemaBytes, inputBytes) => ({
    schema: { items: { oneOf: times(schemaBytes / 16, () => ({ type: 'null' })) } },
    input: repeated(0, inputBytes),
  }),
  conditions: (schemaBytes, inputBytes) => ({
    schema: {
      items: {
        allOf: times(schemaBytes / 70, () => ({ if: { type: 'null' }, then: false, else: { minimum: 0 } })),
      },
    },
    input: repeated(0, inputBytes),
  }),
  'conditions in conditions': (_, inputBytes) => ({
    schema: nested(11, { minimum: 0 }, (inner) => ({ if: inner, then: inner })),
    input: repeated(0, inputBytes),
  }),
  'a chain that doubles': (schemaBytes) => ({ schema: chain(Math.min(60, schemaBytes / 60)), input: {} }),
  'a chain that doubles behind a property': (schemaBytes) => {
    const { $ref, ...rest } = chain(Math.min(60, schemaBytes / 60));
    return { schema: { ...rest, dependentSchemas: { secret: { $ref } } }, input: { secret: 1 } };
  },
  itself: () => ({ schema: { $ref: '#' }, input: {} }),
  'itself behind a property': () => ({
    schema: { if: { required: ['secret'] }, then: { $ref: '#' } },
    input: { secret: 1 },
  }),
  'itself twice, for each level of arrays': () => ({
    schema: { oneOf: [{ items: { $ref: '#' } }, { items: { $ref: '#' } }, { type: 'null' }] },
    input: nested(60, 0, (inner) => [inner]),
  }),
  'itself twice, for each level of properties': () => ({
    schema: { properties: { a: { oneOf: [{ $ref: '#' }, { $ref: '#' }] } } },
    input: nested(60, 0, (inner) => ({ a: inner })),
  }),
  'itself by a dynamic reference': () => ({
    schema: {
      $dynamicAnchor: 'node',
      oneOf: [{ items: { $dynamicRef: '#node' } }, { items: { $dynamicRef: '#node' } }],
    },
    input: nested(60, 0, (inner) => [inner]),
  }),
  'dynamic anchors': (schemaBytes) => ({
    schema: {
      $defs: named(schemaBytes / 60, (n) => ({ $dynamicAnchor: `a${n}`, type: 'object' })),
      $ref: '#/$defs/p0',
    },
    input: {},
  }),
  'properties that nobody has': (schemaBytes, inputBytes) => ({
    schema: { items: { properties: named(schemaBytes / 26, () => ({ type: 'string' })) } },
    input: repeated({}, inputBytes),
  }),
  'patterns of names': (schemaBytes, inputBytes) => ({
    schema: {
      patternProperties: Object.fromEntries(
        times(schemaBytes / 30, (n) => [`(a|b)*a(a|b){${n % 900}}c$`, {}]),
      ),
    },
    input: Object.fromEntries(times(inputBytes / 24, (n) => [letters(12) + n, 1])),
  }),
  'patterns with many states': (schemaBytes, inputBytes) => ({
    schema: { allOf: times(schemaBytes / 40, (n) => ({ pattern: `[ab]*a[ab]{${20 + (n % 900)}}$` })) },
    input: `${letters(inputBytes)}c`,
  }),
  'one pattern with many states': (_, inputBytes) => ({
    schema: { pattern: '[ab]*a[ab]{18}$' },
    input: `${letters(inputBytes)}c`,
  }),
  'a pattern that backtracks elsewhere': (_, inputBytes) => ({
    schema: { pattern: '^(a|a)*$' },
    input: `${'a'.repeat(inputBytes)}b`,
  }),
  'names that are looked at': (schemaBytes, inputBytes) => ({
    schema: { propertyNames: { allOf: times(schemaBytes / 20, (n) => ({ maxLength: 1_000 + n })) } },
    input: named(inputBytes / 12, () => 1),
  }),
  'lengths in characters': (schemaBytes, inputBytes) => ({
    schema: { allOf: times(schemaBytes / 24, (n) => ({ maxLength: 10_000_000 + n })) },
    input: '\u{1f600}'.repeat(inputBytes / 4),
  }),
  multiples: (schemaBytes, inputBytes) => ({
    schema: { items: { allOf: times(schemaBytes / 22, () => ({ multipleOf: 0.001 })) } },
    input: repeated(1e300, inputBytes),
  }),
  'what is contained': (schemaBytes, inputBytes) => ({
    schema: {
      allOf: times(schemaBytes / 50, (n) => ({ contains: { type: 'null' }, minContains: 0, maxContains: n })),
    },
    input: repeated(0, inputBytes),
  }),
  'what nobody has evaluated': (schemaBytes, inputBytes) => ({
    schema: {
      anyOf: times(schemaBytes / 36, (n) => ({ properties: { [`p${n}`]: { type: 'number' } } })),
      unevaluatedProperties: { type: 'number' },
    },
    input: named(inputBytes / 12, () => 1),
  }),
  'items that nobody has evaluated': (schemaBytes, inputBytes) => ({
    schema: {
      items: {
        anyOf: times(schemaBytes / 40, (n) => ({
          prefixItems: times(1 + (n % 3), () => ({ type: 'null' })),
        })),
        unevaluatedItems: { type: 'number' },
      },
    },
    input: repeated([0], inputBytes),
  }),
  'schemas that depend': (schemaBytes, inputBytes) => ({
    schema: { items: { dependentSchemas: named(schemaBytes / 30, () => ({ required: ['a'] })) } },
    input: repeated({}, inputBytes),
  }),
  'members that depend': (schemaBytes, inputBytes) => ({
    schema: { dependentRequired: named(schemaBytes / 20, (n) => [`p${n + 1}`]) },
    input: named(inputBytes / 12, () => 1),
  }),
  'arrays in arrays': (_, inputBytes) => ({
    schema: nested(10, { type: 'number' }, (inner) => ({ items: inner })),
    input: nested(9, repeated(0, inputBytes), (inner) => [inner]),
  }),
};
