import { compileSchema } from './schema-compiler.js';
import type { JsonSchema } from './json-schema.js';

// real: everything; mock: nothing

const string = { type: 'string' };
const integer = { type: 'integer' };
const list = { type: 'array', items: string };
const object = (properties: object, more = {}): JsonSchema => ({ type: 'object', properties, ...more });
const items = (schema: object): JsonSchema => ({ type: 'array', items: schema });
const orNull = { type: ['string', 'null'] };

/** The repaired input, or the problems that are left: of all errors at once and of one after the other. */
function meant(schema: JsonSchema, input: unknown, allErrors = true): unknown {
  const before = JSON.stringify(input);
  const verdict = compileSchema(schema, { allErrors }).repair(input);
  expect(JSON.stringify(input)).toBe(before);
  return 'repaired' in verdict
    ? verdict.repaired
    : verdict.map(({ pointer, detail }) => `${pointer} ${detail}`);
}

const filter = object({ from: string, to: orNull, size: integer }, { additionalProperties: false });

describe('null stands for an absent member', () => {
  it.each<[string, JsonSchema, unknown, unknown]>([
    ['of a type', object({ a: integer }), { a: null, b: 1 }, { b: 1 }],
    ['of several types', object({ a: { type: ['string', 'array'] } }), { a: null }, {}],
    ['of an enum', object({ a: { enum: ['x'] } }), { a: null }, {}],
    ['of a const', object({ a: { const: 1 } }), { a: null }, {}],
    ['of a closed object', object({ a: integer }, { additionalProperties: false }), { a: null }, {}],
    [
      'beside a required one',
      object({ a: string, b: integer }, { required: ['a'] }),
      { a: 'x', b: null },
      { a: 'x' },
    ],
    ['in an object', object({ f: filter }), { f: { from: null, to: null } }, { f: { to: null } }],
    [
      'five levels down',
      object({ a: object({ b: object({ c: object({ d: object({ e: string }) }) }) }) }),
      { a: { b: { c: { d: { e: null } } } } },
      { a: { b: { c: { d: {} } } } },
    ],
    [
      'in items',
      object({ l: items(filter) }),
      { l: [{ from: null }, { size: null, to: null }] },
      { l: [{}, { to: null }] },
    ],
    ['in items of items', object({ l: items(items(filter)) }), { l: [[{ from: null }]] }, { l: [[{}]] }],
    [
      'in tuples',
      object({ l: { type: 'array', prefixItems: [filter] } }),
      { l: [{ from: null }] },
      { l: [{}] },
    ],
    [
      'by a reference',
      { $defs: { f: filter }, ...object({ f: { $ref: '#/$defs/f' } }) },
      { f: { from: null } },
      { f: {} },
    ],
    ['of a reference', { $defs: { f: filter }, ...object({ f: { $ref: '#/$defs/f' } }) }, { f: null }, {}],
    ['of itself', object({ in: { $ref: '#' }, n: integer }), { in: { in: null, n: null } }, { in: {} }],
    ['of allOf', object({ f: { allOf: [{ type: 'object' }, filter] } }), { f: { size: null } }, { f: {} }],
    ['at the root', { allOf: [object({ a: integer }), object({ b: string })] }, { a: null, b: null }, {}],
    ['of anyOf', object({ a: { anyOf: [integer, string] } }), { a: null }, {}],
    ['of oneOf', object({ a: { oneOf: [integer, list] } }), { a: null }, {}],
    ['in a branch', object({ f: { anyOf: [filter, { type: 'null' }] } }), { f: { from: null } }, { f: {} }],
    [
      'in the branch that is meant',
      {
        anyOf: [
          object({ k: { const: 'x' }, a: orNull, n: integer }, { required: ['k'] }),
          object({ k: { const: 'y' }, a: string }),
        ],
      },
      { k: 'x', a: null, n: null },
      { k: 'x', a: null },
    ],
    [
      'of a map',
      object({ m: { type: 'object', additionalProperties: string } }),
      { m: { x: null, y: 'z' } },
      { m: { y: 'z' } },
    ],
    [
      'of a pattern',
      object({ m: { type: 'object', patternProperties: { '^x': integer } } }),
      { m: { x1: null } },
      { m: {} },
    ],
    ['of an if', { if: { required: ['k'] }, then: object({ a: integer }) }, { k: 1, a: null }, { k: 1 }],
    ['with a name like a pointer', object({ 'a/b~c': integer, '': string }), { 'a/b~c': null, '': null }, {}],
    ['but not of a list', object({ l: list }), { l: ['a', null] }, ['/l/1 must be string, not null']],
    [
      'but not of a required one',
      object({ a: string, b: integer }, { required: ['a'] }),
      { a: null, b: null },
      ['/a must be string, not null'],
    ],
    [
      'but not of an unknown one',
      object({ a: string }, { additionalProperties: false }),
      { z: null },
      ['/z is not a known field'],
    ],
    [
      'but not of a required one in items',
      object({ l: items(object({ a: string, b: string }, { required: ['a'] })) }),
      { l: [{ a: null, b: null }] },
      ['/l/0/a must be string, not null'],
    ],
    ['as the arguments', object({ a: string }), null, {}],
    [
      'but not as arguments that must be',
      object({ a: string }, { required: ['a'] }),
      null,
      [' must be object, not null'],
    ],
  ])('%s', (_what, schema, input, expected) => {
    expect(meant(schema, input)).toEqual(expected);
    expect(meant(schema, input, false)).toEqual(expected);
  });

  it('of each of five hundred rows', () => {
    const rows = Array.from({ length: 500 }, (_, n) => ({ n, note: null }));
    expect(meant(object({ rows: items(object({ n: integer, note: string })) }), { rows })).toEqual({
      rows: rows.map(({ n }) => ({ n })),
    });
  });
});

describe('JSON in a text', () => {
  const any = object({ l: list, f: filter, n: integer, s: string });
  it.each<[string, JsonSchema, unknown, unknown]>([
    ['is a list', any, { l: '["x"]' }, { l: ['x'] }],
    ['is an object', any, { f: ' {"from": "x"}\n' }, { f: { from: 'x' } }],
    ['is an empty list', any, { l: '[]' }, { l: [] }],
    ['is all arguments', any, '{"l": ["x"]}', { l: ['x'] }],
    ['is all arguments, and a list in them', any, '{"l": "[\\"x\\"]"}', { l: ['x'] }],
    ['holds nulls of absent members', any, { f: '{"from": null, "to": null}' }, { f: { to: null } }],
    ['is a list or null', object({ l: { type: ['array', 'null'] } }), { l: '[1]' }, { l: [1] }],
    ['is in a branch', object({ l: { anyOf: [list, { type: 'null' }] } }), { l: '["x"]' }, { l: ['x'] }],
    [
      'is beside allowed words',
      object({ l: { anyOf: [{ enum: ['all'] }, list] } }),
      { l: '["x"]' },
      { l: ['x'] },
    ],
    ['stands in items', object({ l: items(filter) }), { l: ['{"from": "x"}'] }, { l: [{ from: 'x' }] }],
    [
      'stands behind a reference',
      { $defs: { f: filter }, ...object({ f: { $ref: '#/$defs/f' } }) },
      { f: '{}' },
      { f: {} },
    ],
    [
      'is read once',
      any,
      { f: '{"from": "[1]", "size": "[1]"}' },
      ['/f/size must be integer, but is a string'],
    ],
    [
      'in JSON is not read again',
      object({ l: items(list) }),
      { l: '["[\\"x\\"]"]' },
      ['/l/0 must be array, but is a string'],
    ],
    ['twice over is no list', any, { l: '"[1]"' }, ['/l must be array, but is a string']],
    [
      'is of the other kind',
      any,
      { l: '{"a": 1}', f: '[1]' },
      ['/l must be array, but is a string', '/f must be object, but is a string'],
    ],
    ['is broken', any, { l: '["x"' }, ['/l must be array, but is a string']],
    ['is plain text', any, { l: 'x, y' }, ['/l must be array, but is a string']],
    ['has wrong items', any, { l: '[1]' }, ['/l/0 must be string, but is a number']],
    ['is deep', any, { l: '['.repeat(20_000) + ']'.repeat(20_000) }, ['/l must be array, but is a string']],
    ['is no number', any, { n: '1' }, ['/n must be integer, but is a string']],
  ])('%s', (_what, schema, input, expected) => {
    expect(meant(schema, input)).toEqual(expected);
  });

  it('stays a text where one is allowed', () => {
    for (const schema of [string, {}, { type: ['array', 'string'] }, { anyOf: [list, string] }])
      expect(compileSchema(object({ a: schema })).problemsOf({ a: '["x"]' })).toEqual([]);
  });
});

it.each([
  [string, 1, 'must be string, but is a number'],
  [string, true, 'must be string, but is a boolean'],
  [string, {}, 'must be string, but is an object'],
  [integer, 'a', 'must be integer, but is a string'],
  [integer, [], 'must be integer, but is an array'],
  [list, 1, 'must be array, but is a number'],
])('the type that came is named: %j, %j', (schema, value, detail) => {
  expect(compileSchema(object({ a: schema })).problemsOf({ a: value })).toEqual([{ pointer: '/a', detail }]);
});
