import { compileSchema } from './schema-compiler.js';
import { type Faults, readSchema } from './schema-reader.js';
import type { JsonSchema } from './json-schema.js';

// real: everything but what the schema of schemas and the compiler find (test/integration/almost-schemas.slow-spec.ts)

const none = (): Faults => new Map();
const read = (schema: object): JsonSchema => readSchema(schema as JsonSchema, none, true).schema;
const a = (schema: unknown) => ({ properties: { a: schema } });

describe('is read as what it means', () => {
  /** Names of types in other languages. */
  const languages = {
    integer: 'int long Integer',
    number: 'float double',
    string: 'str file String',
    boolean: 'bool',
    array: 'list',
    object: 'dict',
    null: 'none',
  };
  it.each<readonly [string, object, object]>([
    ['a limit of draft-04', a({ minimum: 1, exclusiveMinimum: true }), a({ exclusiveMinimum: 1 })],
    ['the other limit', a({ maximum: 1, exclusiveMaximum: true }), a({ exclusiveMaximum: 1 })],
    ['a limit that is none', a({ minimum: 1, exclusiveMinimum: false }), a({ minimum: 1 })],
    ['a limit of nothing', a({ exclusiveMinimum: true }), a({})],
    [
      'required in a property',
      { properties: { a: { required: true }, b: { required: false } } },
      { properties: { a: {}, b: {} }, required: ['a'] },
    ],
    [
      'required in both ways',
      { ...a({ required: true }), required: ['a', 'b'] },
      { ...a({}), required: ['a', 'b'] },
    ],
    ['doubled names', { required: ['a', 'a', 1] }, { required: ['a'] }],
    ['required: null', { required: null }, {}],
    ['one name', { required: 'a' }, { required: ['a'] }],
    ...['any', 'Foo', 'strnig', 'undefined'].map((type) => [type, a({ type }), a({})] as const),
    ...Object.entries(languages).flatMap(([meant, types]) =>
      types.split(' ').map((type) => [type, a({ type }), a({ type: meant })] as const),
    ),
    ['types', a({ type: ['str', 'string', 'None'] }), a({ type: ['string', 'null'] })],
    ['no types', a({ type: [] }), a({})],
    ['types of any', a({ type: ['string', 'any'] }), a({})],
    ['a type that is a schema', a({ type: { type: 'string' } }), a({})],
    ['no values', a({ enum: [] }), a({})],
    ['no branches', { anyOf: [], oneOf: [], allOf: [] }, {}],
    [
      'an id',
      { id: 'https://example.com/x', properties: { id: { id: '#a', type: 'string' } } },
      { properties: { id: { $anchor: 'a', type: 'string' } } },
    ],
    ['nullable', a({ type: 'string', nullable: true }), a({ type: ['string', 'null'] })],
    [
      'nullable values',
      a({ type: 'string', nullable: true, enum: ['x'] }),
      a({ type: ['string', 'null'], enum: ['x', null] }),
    ],
    [
      'a nullable reference',
      { $defs: { x: {} }, ...a({ nullable: true, $ref: '#/$defs/x' }) },
      { $defs: { x: {} }, ...a({ anyOf: [{ $ref: '#/$defs/x' }, { type: 'null' }] }) },
    ],
    ['not nullable', a({ nullable: false }), a({})],
    [
      'lists of PHP',
      { properties: [], $defs: [], patternProperties: [] },
      { properties: {}, $defs: {}, patternProperties: {} },
    ],
    [
      'a tuple',
      a({ items: [{ type: 'int' }], additionalItems: false }),
      a({ prefixItems: [{ type: 'integer' }], items: false }),
    ],
  ])('%s', (_what, given, meant) => {
    expect(read(given)).toEqual(meant);
    compileSchema(read(given));
  });

  it('in each part of a schema', () => {
    const [bad, good] = [{ type: 'int' }, { type: 'integer' }];
    const singles =
      'items contains not if then else additionalProperties propertyNames additionalItems unevaluatedItems unevaluatedProperties contentSchema';
    const members = (names: string, value: unknown) =>
      Object.fromEntries(names.split(' ').map((name) => [name, value]));
    const parts = (part: object) => ({
      ...members('properties patternProperties $defs dependentSchemas', { a: part }),
      ...members('allOf anyOf oneOf prefixItems', [part]),
      ...members(singles, part),
    });
    expect(read(parts(bad))).toEqual(parts(good));
  });

  it.each([
    { default: { type: 'int' } },
    { const: { required: true } },
    { enum: [{ type: 'int' }] },
    { examples: [{ type: 'int' }] },
    { 'x-any': { type: 'int' } },
  ])('but not what is no schema: %j', (given) =>
    expect(readSchema(given, none)).toEqual({ schema: given, warnings: [] }),
  );
});

describe('is left out', () => {
  const look = { type: 'string', pattern: '(?=a)b' };
  const text = { type: 'string' };
  it.each<[string, object, object]>([
    ['a pattern', a(look), a(text)],
    ['a pattern of items', { items: look }, { items: text }],
    ['a pattern of names', { propertyNames: look }, { propertyNames: text }],
    ['a pattern in definitions', { $defs: { x: look } }, { $defs: { x: text } }],
    [
      'a pattern of members',
      { patternProperties: { '(?=a)b': {}, c: {} } },
      { patternProperties: { c: {} } },
    ],
    [
      'a pattern of members, and what refuses others',
      { patternProperties: { '(?=a)b': {} }, additionalProperties: false },
      { patternProperties: {} },
    ],
    ['what a pattern negates', a({ not: look }), a({})],
    ['a condition', { if: a(look), then: { required: ['b'] } }, { then: { required: ['b'] } }],
    ['the choice of one', { oneOf: [look, { type: 'null' }] }, { anyOf: [text, { type: 'null' }] }],
    [
      'no schema',
      { properties: { a: 'text', b: 5, c: null, d: ['x'], e: true } },
      { properties: { a: true, b: true, c: true, d: true, e: true } },
    ],
    ['no branch', { allOf: ['x', { type: 'object' }] }, { allOf: [true, { type: 'object' }] }],
  ])('%s', (_what, given, left) => {
    const { schema, warnings } = readSchema(given as JsonSchema, none);
    expect(schema).toEqual(left);
    expect(warnings[0]).toMatch(/^\/.* of its inputSchema is left out \(.*\): the tool checks it itself$/);
    compileSchema(schema);
  });

  it('with a warning that names the member, and not more than ten', () => {
    const { warnings } = readSchema(a(look), none);
    expect(warnings).toEqual([
      '/properties/a/pattern of its inputSchema is left out (it has look-around): the tool checks it itself',
    ]);
    const many = Object.fromEntries(Array.from({ length: 14 }, (_, n) => [`p${n}`, look]));
    expect(readSchema({ properties: many }, none).warnings).toEqual([
      ...Array(10).fill(expect.any(String)),
      'and 4 more',
    ]);
  });

  it('what is found later', () => {
    const faults = new Map([['/properties/a/minLength', 'must be integer']]);
    const faultsOf = (schema: JsonSchema): Faults =>
      JSON.stringify(schema).includes('minLength') ? faults : new Map();
    expect(readSchema(a({ minLength: 'x', maxLength: 3 }) as JsonSchema, faultsOf).schema).toEqual(
      a({ maxLength: 3 }),
    );
    expect(() => readSchema({}, () => new Map([['', 'is no schema at all']]))).toThrow('no schema at all');
  });
});
