import { readFileSync } from 'node:fs';
import { InputSchemas } from '../../src/base/schemas/input-validator.js';
import { Problem } from '../../src/base/common/errors.js';

// real: everything, the thread included; mock: nothing

const schemas = new InputSchemas();
afterAll(() => schemas.onApplicationShutdown());

interface LibraryPattern {
  readonly library: string;
  readonly name: string;
  readonly pattern: string;
  readonly accepts?: readonly string[];
  readonly refuses?: readonly string[];
  readonly leftOut?: string;
}

const patterns = JSON.parse(
  readFileSync(`${process.cwd()}/test/fixtures/library-patterns.json`, 'utf8'),
) as LibraryPattern[];
const nested = (levels: number): object => (levels === 0 ? {} : { properties: { a: nested(levels - 1) } });

async function isValid(schema: object, input: unknown): Promise<boolean> {
  const validate = await schemas.compile(schema);
  const verdict = await validate(input, JSON.stringify(input).length);
  return !('repaired' in verdict) && verdict.length === 0;
}

describe('patterns that libraries write into schemas: zod 3 and 4, pydantic, TypeBox', () => {
  it('are a hundred, of each library', () => {
    expect(patterns.length).toBeGreaterThan(100);
    expect(new Set(patterns.map(({ library }) => library)).size).toBe(5);
  });

  it.each(patterns.map((row) => [`${row.library} ${row.name}`, row] as const))('%s', async (_name, row) => {
    const { pattern, accepts = [], refuses = [], leftOut } = row;
    const schema = { type: 'object', properties: { x: { type: 'string', pattern } } };
    const validate = await schemas.compile(schema);
    const problemsOf = async (text: string): Promise<unknown> => {
      const verdict = await validate({ x: text }, 100);
      return 'repaired' in verdict ? verdict : verdict.map(({ pointer }) => pointer);
    };
    for (const text of accepts) expect([text, await problemsOf(text)]).toEqual([text, []]);
    for (const text of refuses) expect([text, await problemsOf(text)]).toEqual([text, ['/x']]);
    expect(validate.schema).toEqual(
      leftOut ? { type: 'object', properties: { x: { type: 'string' } } } : schema,
    );
    expect(validate.warnings).toEqual(
      leftOut
        ? [
            `/properties/x/pattern of its inputSchema is left out (it has ${leftOut}): the tool checks it itself`,
          ]
        : [],
    );
  });
});

const good = { q: { type: 'string' } };
const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties: { ...good, ...properties },
  ...more,
});

describe('one member that cannot be used costs itself', () => {
  it.each<[string, object, string]>([
    ['a limit that is a text', object({ x: { minLength: 'long' } }), '/properties/x/minLength'],
    ['a negative limit', object({ x: { maxItems: -1 } }), '/properties/x/maxItems'],
    ['a pattern that is none', object({ x: { pattern: 5 } }), ''],
    ['a description that is a list', object({ x: { description: ['a'] } }), '/properties/x/description'],
    ['properties that are a text', { properties: 'none' }, '/properties'],
    ['a property that is a text', object({ x: 'string' }), '/properties/x'],
    ['a property that is null', object({ x: null }), '/properties/x'],
    ['a property that is a list', object({ x: ['string'] }), '/properties/x'],
    ['items that are a text', object({ x: { type: 'array', items: 'string' } }), '/properties/x/items'],
    ['branches that are no list', object({ x: { anyOf: { type: 'string' } } }), '/properties/x/anyOf'],
    ['values that are no list', object({ x: { enum: 'a' } }), '/properties/x/enum'],
    ['a dependency that is none', object({}, { dependentRequired: { q: 'x' } }), '/dependentRequired'],
    ['an id that is none', object({ x: { $id: '#a#b' } }), '/properties/x/$id'],
    ['a reference to nowhere', object({ x: { $ref: '#/$defs/none' } }), '/properties/x/$ref'],
    ['a reference elsewhere', object({ x: { $ref: 'https://example.com/x.json' } }), '/properties/x/$ref'],
    ['a reference to a file', object({ x: { $ref: 'other.json#/x' } }), '/properties/x/$ref'],
    ['a reference to an anchor of nobody', object({ x: { $ref: '#none' } }), '/properties/x/$ref'],
    ['a reference that is none', object({ x: { $ref: 5 } }), '/properties/x/$ref'],
    [
      'a reference in draft-07',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        ...object({ x: { $ref: '#/definitions/none' } }),
      },
      '/properties/x/$ref',
    ],
    [
      'something in items of draft-07',
      { $schema: 'http://json-schema.org/draft-07/schema#', ...object({ x: { items: { minLength: 'x' } } }) },
      '/properties/x/items/minLength',
    ],
  ])('%s', async (_what, schema, pointer) => {
    const { warnings } = await schemas.compile(schema);
    if (pointer) expect(warnings.join()).toContain(`${pointer} of its inputSchema is left out (`);
    expect(await isValid(schema, { q: 'a', x: [{ y: 1 }] })).toBe(true);
    if (pointer !== '/properties') expect(await isValid(schema, { q: 1 })).toBe(false);
  });

  it('thirty at once, and the others hold', async () => {
    const bad = Array.from({ length: 30 }, (_, n) => [`x${n}`, { $ref: `#/$defs/none${n}`, minLength: 'x' }]);
    const schema = object(Object.fromEntries(bad) as object, { required: ['q'] });
    expect((await schemas.compile(schema)).warnings.at(-1)).toBe('and 50 more');
    expect(await isValid(schema, { q: 'a', x1: 1 })).toBe(true);
    expect(await isValid(schema, {})).toBe(false);
  });
});

describe('an almost valid schema is read as what it means', () => {
  const of = (member: object) => object({ x: member });
  it.each<[string, object, unknown, unknown]>([
    [
      'a limit of OpenAPI 3.0',
      of({ type: 'number', minimum: 0, exclusiveMinimum: true }),
      { x: 0.1 },
      { x: 0 },
    ],
    [
      'a limit of draft-04',
      { $schema: 'http://json-schema.org/draft-04/schema#', ...of({ maximum: 9, exclusiveMaximum: true }) },
      { x: 8 },
      { x: 9 },
    ],
    ['required: true', of({ type: 'string', required: true }), { x: 'a' }, {}],
    ['a type of Python', of({ type: 'int' }), { x: 1 }, { x: 'a' }],
    ['lists and maps', object({ x: { type: 'list', items: { type: 'dict' } } }), { x: [{}] }, { x: [1] }],
    ['any', object({ x: { type: 'any' } }), { x: [1] }, { q: 1 }],
    ['no values', of({ type: 'string', enum: [] }), { x: 'a' }, { x: 1 }],
    ['no branches', of({ anyOf: [], type: 'string' }), { x: 'a' }, { x: 1 }],
    ['doubled names', object({}, { required: ['q', 'q'] }), { q: 'a' }, {}],
    ['required: null', object({}, { required: null }), {}, { q: 1 }],
    [
      'an id of draft-04',
      { id: 'http://example.com/tool', ...of({ id: '#x', type: 'string' }) },
      { x: 'a' },
      { x: 1 },
    ],
    [
      'a reference to such an id',
      object({ x: { id: '#x', type: 'string' }, y: { $ref: '#x' } }),
      { y: 'a' },
      { y: 1 },
    ],
    [
      'nullable',
      object({ x: { type: 'string', nullable: true } }, { required: ['x'] }),
      { x: null },
      { x: 1 },
    ],
    ['nullable without a type', object({ x: { nullable: true } }), { x: null }, { q: 1 }],
    [
      'a tuple of draft-07',
      object({ x: { type: 'array', items: [{ type: 'string' }] } }),
      { x: ['a', 1] },
      { x: [1] },
    ],
  ])('%s', async (_what, schema, valid, invalid) => {
    expect(await isValid(schema, valid)).toBe(true);
    expect(await isValid(schema, invalid)).toBe(false);
    if (!_what.startsWith('nullable')) expect((await schemas.compile(schema)).warnings).not.toEqual([]);
  });

  it('and is published as it is read', async () => {
    const given = { $schema: 'http://json-schema.org/draft-04/schema#', minimum: 1, exclusiveMinimum: true };
    expect((await schemas.compile(given)).schema).toEqual({
      $schema: 'http://json-schema.org/draft-07/schema#',
      exclusiveMinimum: 1,
    });
  });

  it('a valid schema is taken as it is, without a warning', async () => {
    const schema = object(
      { x: { type: ['string', 'null'], pattern: '^a', default: { type: 'int' } } },
      { required: ['q'], $defs: {} },
    );
    const { warnings, schema: read } = await schemas.compile(schema);
    expect(warnings).toEqual([]);
    expect(read).toEqual(schema);
  });
});

describe('an input in the thread', () => {
  it('is repaired there as on the event loop', async () => {
    const schema = object({
      l: { type: 'array', items: { type: 'string' }, uniqueItems: true },
      n: { type: 'integer' },
    });
    const validate = await schemas.compile(schema);
    const verdict = validate({ q: 'a', l: '["x"]', n: null }, 40);
    expect(verdict).toBeInstanceOf(Promise);
    expect(await verdict).toEqual({ repaired: { q: 'a', l: ['x'] } });
  });

  it('is repaired if it is large', async () => {
    const validate = await schemas.compile(object({ n: { type: 'integer' } }));
    const q = 'x'.repeat(200_000);
    expect(await validate({ q, n: null }, 200_020)).toEqual({ repaired: { q } });
  });
});

it.each([
  ['deep', nested(40), 'nested deeper than 32 levels'],
  ['large', { description: 'x'.repeat(70_000) }, 'the cap is 65536'],
  ['a list', [], 'must be a JSON Schema object'],
])('a schema that is %s is refused', async (_what, schema, why) => {
  const refused = await schemas.compile(schema).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Problem);
  expect((refused as Problem).detail).toContain(why);
});
