import { compileSchema } from './schema-compiler.js';
import { costPerByte } from './schema-cost.js';
import type { JsonSchema } from './json-schema.js';

// real: everything; mock: nothing

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));
const named = (count: number, make: (n: number) => unknown) =>
  Object.fromEntries(times(count, (n) => [`p${n}`, make(n)]));
const text = { type: 'string' };
const costOf = (schema: JsonSchema): number => costPerByte(schema, compileSchema(schema).instructions);

describe('is checked on the event loop', () => {
  it.each<[string, JsonSchema]>([
    ['nothing', {}],
    [
      'an ordinary tool',
      {
        $comment: 'a',
        title: 'Find',
        description: 'Finds',
        type: 'object',
        properties: {
          query: { type: 'string', minLength: 1, maxLength: 10, pattern: '\\S', examples: ['a', ['b']] },
          id: { type: 'string', format: 'uuid', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
          limit: { type: ['integer', 'null'], minimum: 1, exclusiveMaximum: 9, multipleOf: 2, default: 4 },
          kind: { enum: ['a', 1, null, false], 'x-order': { first: 'a' } },
          fixed: { const: 'a', deprecated: true },
          tags: { type: 'array', items: text, minItems: 1, maxItems: 9 },
          any: true,
          map: { type: 'object', additionalProperties: text, minProperties: 1, maxProperties: 9 },
        },
        required: ['query'],
        additionalProperties: false,
      },
    ],
    [
      'thirty members that may be null, as pydantic writes them',
      { properties: named(30, () => ({ anyOf: [text, { type: 'null' }], default: null })) },
    ],
    ['sixteen alternatives', { oneOf: times(16, (n) => ({ const: n })) }],
    [
      'references',
      { $defs: { a: text }, definitions: { b: { $ref: '#/$defs/a' } }, $ref: '#/definitions/b' },
    ],
    ['300 properties', { properties: named(300, () => text) }],
    ['a list of countries', { enum: times(250, (n) => `c${n}`) }],
  ])('%s', (_what, schema) => {
    expect(costOf(schema)).toBeLessThan(10_000);
  });
});

describe('is checked in a thread', () => {
  const twice = (n: number) => ({ allOf: [{ $ref: `#/$defs/p${n}` }, { $ref: `#/$defs/p${n}` }] });
  it.each<[string, JsonSchema]>([
    ...['uniqueItems', 'patternProperties', 'propertyNames', 'not', 'if', 'contains', 'prefixItems'].map(
      (keyword): [string, JsonSchema] => [keyword, { items: { [keyword]: true } }],
    ),
    ...['dependentSchemas', 'dependentRequired', 'dependencies', 'unevaluatedProperties'].map(
      (keyword): [string, JsonSchema] => [keyword, { properties: { a: { [keyword]: {} } } }],
    ),
    ...['$id', '$anchor', '$dynamicAnchor', '$dynamicRef', '$recursiveRef', 'unknown'].map(
      (keyword): [string, JsonSchema] => [keyword, { anyOf: [{ [keyword]: 'a' }] }],
    ),
    ['a tuple of draft 7', { items: [text] }],
    ['an object to compare with', { enum: [1, { a: 1 }] }],
    ['a list to compare with', { const: [1] }],
    ['seventeen alternatives', { anyOf: times(17, (n) => ({ const: n })) }],
    [
      'alternatives in alternatives of items',
      { items: { anyOf: times(9, () => ({ oneOf: times(9, (n) => ({ const: n })) })) } },
    ],
    ['itself', { properties: { a: { $ref: '#' } } }],
    [
      'itself by way of another',
      {
        $defs: { a: { $ref: '#/definitions/b' } },
        definitions: { b: { $ref: '#/$defs/a' } },
        $ref: '#/$defs/a',
      },
    ],
    ['a chain that doubles', { $defs: { ...named(20, (n) => twice(n + 1)), p20: {} }, ...twice(0) }],
    ['a reference into a part', { properties: { a: text, b: { $ref: '#/properties/a' } } }],
    ['a reference to elsewhere', { $ref: 'https://example.com/a' }],
    ['a reference to nowhere', { $ref: '#/$defs/__proto__' }],
    ['a thousand members', { properties: named(1_000, () => text) }],
    ['a thousand values', { enum: times(1_000, (n) => n) }],
  ])('%s', (_what, schema) => {
    expect(costPerByte(schema, 0)).toBe(Infinity);
  });

  it('a large pattern', () => {
    expect(costOf({ pattern: '(a|b|c|d){1000}' })).toBe(Infinity);
  });
});
