import type { JsonSchema } from './json-schema.js';
import { compileSchema, inDialect } from './schema-compiler.js';
import { readSchema } from './schema-reader.js';

const problemsOf = (schema: JsonSchema, input: unknown, allErrors = false) =>
  compileSchema(schema, { allErrors }).problemsOf(input);

const query = {
  type: 'object',
  properties: {
    query: { type: 'string' },
    limit: { type: 'integer', maximum: 10 },
    kind: { enum: ['a', 'b'] },
  },
  required: ['query'],
  additionalProperties: false,
};

it('names every wrong field by its pointer', () => {
  expect(problemsOf(query, { query: 'x', limit: 3, kind: 'a' }, true)).toEqual([]);
  const problems = problemsOf(query, { limit: 11, kind: 'c', 'a/b': 1 }, true);
  expect(problems).toHaveLength(4);
  expect(problems).toEqual(
    expect.arrayContaining([
      { pointer: '/query', detail: 'is required' },
      { pointer: '/a~1b', detail: 'is not a known field' },
      { pointer: '/limit', detail: 'must be at most 10' },
      { pointer: '/kind', detail: 'must be equal to one of the allowed values: "a", "b"' },
    ]),
  );
});

it.each([
  ['2020-12', 'https://json-schema.org/draft/2020-12/schema', 'prefixItems'],
  ['2019-09', 'https://json-schema.org/draft/2019-09/schema', 'items'],
  ['draft-07', 'http://json-schema.org/draft-07/schema#', 'items'],
  ['draft-06', 'http://json-schema.org/draft-06/schema#', 'items'],
])('reads a schema as one of its dialect: %s', (_name, $schema, tuple) => {
  const schema = { $schema, properties: { a: { [tuple]: [{ type: 'string' }] } } };
  expect(problemsOf(schema, { a: ['x'] })).toEqual([]);
  expect(problemsOf(schema, { a: [1] })).toEqual([
    { pointer: '/a/0', detail: 'must be string, but is a number' },
  ]);
});

it.each([
  ['http://json-schema.org/draft-04/schema#', 'draft-07'],
  ['https://json-schema.org/draft-04/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema#', 'draft-07'],
  ['http://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['JSON Schema draft 2020-12', '2020-12'],
  [12, '2020-12'],
])('reads a dialect that is not known as the nearest: %s', ($schema, nearest) => {
  const n = String($schema).includes('draft-04')
    ? { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false }
    : { exclusiveMinimum: 1, maximum: 9 };
  const given = { $schema, properties: { n } } as JsonSchema;
  const { schema } = readSchema(given, () => new Map());
  expect(problemsOf(schema, { n: 1 })).toHaveLength(1);
  expect(problemsOf(schema, { n: 9 })).toEqual([]);
  expect(inDialect(schema).warning).toContain(`JSON Schema ${nearest}`);
});

it('stops at the first unless all are wanted', () => {
  expect(problemsOf(query, { limit: 11, kind: 'c' })).toEqual([{ pointer: '/query', detail: 'is required' }]);
});

it.each([
  ['a reference elsewhere', { $ref: 'https://example.com/schema.json' }],
  ['a reference to nowhere', { $ref: '#/$defs/none' }],
  ['a pattern with look-ahead', { type: 'string', pattern: '(?=a)b' }],
])('refuses %s', (_name, schema) => {
  expect(() => compileSchema(schema)).toThrow();
});

it('matches hostile patterns in linear time', () => {
  const { problemsOf: problems } = compileSchema({ type: 'string', pattern: '^(a|a)*$' });
  // Exponential in a backtracking engine: 2^60 steps would never end.
  expect(problems(`${'a'.repeat(60)}b`)).toHaveLength(1);
  expect(problems('a'.repeat(60))).toEqual([]);
});

it('does not let a schema make its validation asynchronous', () => {
  expect(problemsOf({ $async: true, type: 'object', required: ['q'] }, {})).toEqual([
    { pointer: '/q', detail: 'is required' },
  ]);
});

it('tells the first twenty of a hundred thousand problems', () => {
  const numbers = Array.from({ length: 100_000 }, () => 1);
  expect(problemsOf({ type: 'array', items: { type: 'string' } }, numbers, true)).toHaveLength(20);
});

it('lists a few of the values that are allowed, however many there are', () => {
  const [problem] = problemsOf({ enum: Array.from({ length: 5_000 }, (_, n) => `value ${n}`) }, 'none');
  expect(problem?.detail).toMatch(/allowed values: "value 0", "value 1".*…$/);
  expect(problem?.detail.length).toBeLessThan(600);
});

it('keeps several patterns of one schema apart', () => {
  const schema = {
    properties: { a: { type: 'string', pattern: '^a$' }, b: { type: 'string', pattern: '^b$' } },
  };
  expect(problemsOf(schema, { a: 'a', b: 'b' })).toEqual([]);
  expect(problemsOf(schema, { a: 'b', b: 'a' }, true).map(({ pointer }) => pointer)).toEqual(['/a', '/b']);
});

it('reads a schema of another dialect and unknown keywords as annotations', () => {
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', 'x-order': 1 };
  expect(problemsOf(schema, {})).toEqual([]);
  expect(problemsOf(schema, 1)).toEqual([{ pointer: '', detail: 'must be object, but is a number' }]);
});

describe('patterns of names beside a branch that was not taken', () => {
  const patternProperties = { '^x': { type: 'number' } };
  it.each([
    ['if', { if: { required: ['a'] }, then: { properties: { a: {} } } }],
    ['anyOf', { anyOf: [{ required: ['a'], properties: { a: {} } }, { required: ['x1'] }] }],
    ['dependentSchemas', { dependentSchemas: { a: { properties: { a: {} } } } }],
    ['oneOf', { oneOf: [{ required: ['a'], properties: { a: {} } }, { required: ['x1'] }] }],
  ])('are checked: %s', (_keyword, branch) => {
    const schema = { ...branch, patternProperties };
    expect(problemsOf(schema, { x1: 1 })).toEqual([]);
    expect(problemsOf(schema, { x1: 'a' }, true)).toEqual([
      { pointer: '/x1', detail: 'must be number, but is a string' },
    ]);
  });
});

describe('evaluated properties and items beside a branch that was not taken', () => {
  const given = { if: { required: ['a'] }, then: { properties: { a: {} } } };
  const patternProperties = { '^x': {} };
  const counted = { if: { minItems: 2 }, then: { prefixItems: [{}] } };

  it.each([
    ['properties', { ...given, patternProperties, unevaluatedProperties: false }, { x1: 1 }],
    ['items', { ...counted, unevaluatedItems: { type: 'null' } }, [null]],
  ])('are valid: %s', (_what, schema, input) => {
    expect(problemsOf(schema, input)).toEqual([]);
    expect(problemsOf(schema, input, true)).toEqual([]);
  });

  it.each([
    ['a property', { ...given, patternProperties, unevaluatedProperties: false }, { x1: 1, c: 1 }],
    ['an item', { ...counted, unevaluatedItems: false }, [1]],
    ['an item of another type', { ...counted, unevaluatedItems: { type: 'null' } }, [1]],
  ])('are refused: %s', (_what, schema, input) => {
    expect(problemsOf(schema, input)).toHaveLength(1);
    expect(problemsOf(schema, input, true)).toHaveLength(1);
  });
});

it('knows what has been evaluated where a schema asks for it', () => {
  const schema = { properties: { a: {} }, allOf: [{ properties: { b: {} } }], unevaluatedProperties: false };
  expect(problemsOf(schema, { a: 1, b: 1 })).toEqual([]);
  expect(problemsOf(schema, { a: 1, c: 1 })).toHaveLength(1);
});

it('counts the instructions of patterns', () => {
  expect(compileSchema({ type: 'object' }).instructions).toBe(0);
  expect(compileSchema({ pattern: '^[a-z]+$' }).instructions).toBeLessThan(20);
  expect(compileSchema({ pattern: '(a|b|c|d){1000}' }).instructions).toBeGreaterThan(1_000);
});
