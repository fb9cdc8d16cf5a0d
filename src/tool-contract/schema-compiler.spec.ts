import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import type { JsonSchema } from './tool.js';
import { compileSchema, TooCostly } from './schema-compiler.js';
import { inDialect } from './schema-dialects.js';

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
  expect(problemsOf(schema, { a: [1] })).toEqual([{ pointer: '/a/0', detail: 'must be string' }]);
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
  const schema = { $schema, properties: { n } } as JsonSchema;
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
  expect(problemsOf(schema, 1)).toEqual([{ pointer: '', detail: 'must be object' }]);
});

describe('what a branch that was not taken would have evaluated', () => {
  const given = { if: { required: ['a'] }, then: { properties: { a: {} } } };
  const either = { anyOf: [{ required: ['a'], properties: { a: {} } }, { required: ['b'] }] };
  const patternProperties = { '^x': {} };
  const counted = { if: { minItems: 2 }, then: { prefixItems: [{}] } };

  it.each([
    ['patterns of names beside `if`', { ...given, patternProperties }, { x1: 1 }],
    ['patterns of names beside `anyOf`', { ...either, patternProperties }, { b: 1, x1: 1 }],
    [
      'patterns of names, and nothing else',
      { ...given, patternProperties, unevaluatedProperties: false },
      { x1: 1 },
    ],
    ['items of a kind', { ...counted, unevaluatedItems: { type: 'null' } }, [null]],
  ])('leaves an input valid: %s', (_what, schema, input) => {
    expect(problemsOf(schema, input)).toEqual([]);
    expect(problemsOf(schema, input, true)).toEqual([]);
  });

  it.each([
    ['a property', { ...given, patternProperties, unevaluatedProperties: false }, { x1: 1, c: 1 }],
    ['an item', { ...counted, unevaluatedItems: false }, [1]],
    ['an item of another kind', { ...counted, unevaluatedItems: { type: 'null' } }, [1]],
  ])('is not known: %s', (_what, schema, input) => {
    expect(problemsOf(schema, input)).toHaveLength(1);
    expect(problemsOf(schema, input, true)).toHaveLength(1);
  });
});

describe('what it costs', () => {
  const itself = { $ref: '#' };
  const twice = { oneOf: [{ items: itself }, { items: itself }, { type: 'null' }] };
  const nested = (levels: number): unknown => (levels === 0 ? 0 : [nested(levels - 1)]);

  it('gives up a pass that would never end', () => {
    expect(() => problemsOf(itself, {})).toThrow(TooCostly);
  });

  it.each([
    ['arrays in arrays', twice, nested(60)],
    [
      'branches for each of many items',
      { items: { anyOf: Array.from({ length: 200 }, (_, n) => ({ type: n < 199 ? 'string' : 'null' })) } },
      Array.from({ length: 500_000 }, () => null),
    ],
    [
      'conditions for each of many items',
      { items: { allOf: Array.from({ length: 200 }, () => ({ not: { minimum: 1 } })) } },
      Array.from({ length: 500_000 }, () => 0),
    ],
    [
      'many items that are to be unique',
      { uniqueItems: true },
      Array.from({ length: 3_000_000 }, (_, n) => n),
    ],
  ])('gives up a pass that takes too long: %s', (_what, schema, input) => {
    const compiled = compileSchema(schema);
    const began = process.threadCpuUsage();
    expect(() => compiled.problemsOf(input, 20)).toThrow(new TooCostly('out of time'));
    const { user, system } = process.threadCpuUsage(began);
    expect((user + system) / 1_000).toBeLessThan(250);
    // A pass that had time enough would have gone on: the same schema serves a small input.
    expect(() => compiled.problemsOf([], 1_000)).not.toThrow();
  });

  it('counts the values of a schema, and what its patterns are compiled to', () => {
    expect(compileSchema({ type: 'object' }).nodes).toBe(2);
    expect(compileSchema(query).nodes).toBeLessThan(40);
    expect(compileSchema({ pattern: '^[a-z]+$' }).nodes).toBeLessThan(100);
    expect(compileSchema({ pattern: '(a|b|c|d){1000}' }).nodes).toBeGreaterThan(10_000);
  });
});

describe('uniqueItems, enum and const', () => {
  const values = fc.jsonValue({ maxDepth: 2 });
  /** Few values, so that equal ones meet. */
  const few = fc.oneof(
    values,
    fc.constantFrom<unknown>(0, -0, 1, '1', '', null, true, false, [], {}, 'null', '0', '[]'),
    fc.constantFrom<unknown>({ a: 1, b: [2] }, { b: [2], a: 1 }, { a: 1 }, [1, 2], [2, 1], '{"a":1}'),
  );
  const theirs = new Ajv2020({ strict: false, ownProperties: true });
  const agree = (ofSchema: JsonSchema, ofInput: unknown): void => {
    // As they come from outside: objects of one kind.
    const [schema, input] = JSON.parse(JSON.stringify([ofSchema, ofInput])) as [JsonSchema, unknown];
    expect(problemsOf(schema, input).length === 0).toBe(theirs.compile(schema)(input));
  };

  it('judge as Ajv itself does', () => {
    fc.assert(
      fc.property(
        fc.array(few, { maxLength: 6 }),
        few,
        fc.array(few, { minLength: 1, maxLength: 6 }),
        (items, value, list) => {
          agree({ uniqueItems: true }, items);
          agree({ uniqueItems: false }, items);
          agree({ enum: list }, value);
          agree({ const: list[0] }, value);
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each([
    ['numbers of one hash, were they hashed as numbers', (n: number) => n * 65_536],
    ['arrays', (n: number) => [n]],
    ['objects', (n: number) => ({ a: n, b: 'x' })],
  ])('take time that grows with the input: %s', (_what, make) => {
    const items = Array.from({ length: 100_000 }, (_, n) => make(n));
    const began = process.threadCpuUsage();
    expect(problemsOf({ uniqueItems: true }, items)).toEqual([]);
    expect(problemsOf({ uniqueItems: true }, [...items, make(0)])).toHaveLength(1);
    const { user, system } = process.threadCpuUsage(began);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});
