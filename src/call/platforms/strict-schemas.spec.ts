import fc from 'fast-check';
import { toStrictJsonSchema } from 'openai/lib/transform.js';
import { compileSchema } from '../../base/schemas/schema-compiler.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { strictSchema } from './strict-schemas.js';

const object = (properties: object, required: string[] = [], more: object = {}) => ({
  type: 'object',
  properties,
  required,
  ...more,
});

describe('a strict schema', () => {
  it('closes each object, and lets what was optional be null', () => {
    const schema = object(
      {
        text: { type: 'string', description: 'What is counted', pattern: '\\S', default: 'x' },
        limit: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
        sort: { enum: ['up', 'down'] },
        tags: { type: 'array', items: { type: 'string' }, uniqueItems: true, maxItems: 3 },
        range: object({ from: { type: ['string', 'null'] }, to: { type: 'string', format: 'date' } }, ['to']),
        either: { oneOf: [{ type: 'string' }, { type: 'null' }] },
      },
      ['text'],
      { $schema: 'https://json-schema.org/draft/2020-12/schema', minProperties: 1 },
    );
    expect(strictSchema(schema)).toEqual({
      type: 'object',
      properties: {
        text: { type: 'string', description: 'What is counted' },
        limit: { type: ['integer', 'null'], minimum: 1, maximum: 9 },
        sort: { type: ['string', 'null'], enum: ['up', 'down', null] },
        tags: { type: ['array', 'null'], items: { type: 'string' }, maxItems: 3 },
        range: {
          type: ['object', 'null'],
          properties: { from: { type: ['string', 'null'] }, to: { type: 'string' } },
          required: ['from', 'to'],
          additionalProperties: false,
        },
        either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
      required: ['text', 'limit', 'sort', 'tags', 'range', 'either'],
      additionalProperties: false,
    });
  });

  it('keeps definitions that are referred to', () => {
    const tree = object({ children: { type: 'array', items: { $ref: '#/$defs/tree' } } });
    const schema = object({ tree: { $ref: '#/$defs/tree', description: 'gone' } }, [], { $defs: { tree } });
    expect(strictSchema(schema)).toEqual({
      type: 'object',
      properties: { tree: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] } },
      required: ['tree'],
      additionalProperties: false,
      $defs: {
        tree: {
          type: 'object',
          properties: { children: { type: ['array', 'null'], items: { $ref: '#/$defs/tree' } } },
          required: ['children'],
          additionalProperties: false,
        },
      },
    });
  });

  const deep = (levels: number): JsonSchema =>
    object({ a: levels === 0 ? { type: 'string' } : deep(levels - 1) }, ['a']);
  it.each([
    ['a map of anything', { type: 'object' }],
    ['members beyond those named', object({ a: { type: 'string' } }, [], { additionalProperties: true })],
    ['a member without a type', object({ a: {} })],
    ['a member of any value', object({ a: true })],
    ['an array of anything', object({ a: { type: 'array' } })],
    ['alternatives of the whole', { anyOf: [object({ a: { type: 'string' } })], properties: { a: true } }],
    ['parts put together', object({ a: { allOf: [{ type: 'string' }] } })],
    ['alternatives among alternatives', object({ a: { anyOf: [{ oneOf: [{ type: 'string' }] }] } })],
    ['a reference to elsewhere', object({ a: { $ref: 'https://example.org/schema' } })],
    ['a member that is required but not named', object({ a: { type: 'string' } }, ['b'])],
    [
      'alternatives with optional members',
      object({ a: { anyOf: [object({ b: { type: 'string' } }), object({})] } }),
    ],
    ['too many levels', deep(11)],
    ['too long an enum', object({ a: { enum: Array.from({ length: 1_001 }, (_, at) => `e${at}`) } })],
  ])('is not made of %s', (_, schema) => expect(strictSchema(schema)).toBeUndefined());

  it('takes an input of nothing', () => {
    expect(strictSchema(object({}, [], { additionalProperties: false }))).toMatchObject({ properties: {} });
  });
});

/** The input that the door makes of a model's. */
function meant(schema: JsonSchema, input: unknown): unknown {
  const { problemsOf, repair } = compileSchema(schema, { allErrors: true });
  if (problemsOf(input).length === 0) return input;
  const verdict = repair(input);
  return 'repaired' in verdict ? verdict.repaired : verdict;
}

it('what a model may write by the strict schema is valid by the tool’s own', () => {
  const own = object({
    text: { type: 'string' },
    limit: { type: 'integer' },
    in: object({ a: { type: 'string' } }),
  });
  const strict = compileSchema(strictSchema(own) ?? {});
  for (const [input, expected] of [
    [{ text: null, limit: null, in: null }, {}],
    [
      { text: 'a', limit: 1, in: { a: null } },
      { text: 'a', limit: 1, in: {} },
    ],
  ]) {
    expect(strict.problemsOf(input)).toEqual([]);
    expect(compileSchema(own).problemsOf(input)).not.toEqual([]);
    expect(meant(own, input)).toEqual(expected);
  }
});

/** A schema with a value that a model may write by its strict form. */
interface Case {
  readonly schema: JsonSchema;
  readonly value: unknown;
}

const simple: fc.Arbitrary<Case> = fc.constantFrom<Case>(
  { schema: { type: 'string', minLength: 1, description: 'A word' }, value: 'a' },
  { schema: { type: 'integer', maximum: 9, default: 3 }, value: 7 },
  { schema: { type: ['boolean', 'null'] }, value: null },
  { schema: { enum: ['up', 'down'] }, value: 'up' },
  { schema: { const: 4 }, value: 4 },
  { schema: { oneOf: [{ type: 'number' }, { type: 'null' }] }, value: null },
);
/** No schema that is registered has a member `__proto__`. */
const names = fc.string({ minLength: 1 }).filter((name) => name !== '__proto__');
const members = fc.uniqueArray(fc.tuple(names, fc.boolean(), fc.boolean()), {
  selector: ([name]) => name,
  minLength: 1,
  maxLength: 4,
});
const any: fc.Memo<Case> = fc.memo((levels) =>
  levels <= 1 ? simple : fc.oneof(simple, list(levels - 1), record(levels - 1), orNull(levels - 1)),
);
const list = (levels: number): fc.Arbitrary<Case> =>
  any(levels).map(({ schema, value }) => ({
    schema: { type: 'array', items: schema },
    value: [value, value],
  }));
const orNull = (levels: number): fc.Arbitrary<Case> =>
  any(levels).map(({ schema, value }) => ({ schema: { anyOf: [schema, { type: 'null' }] }, value }));
const record = (levels: number): fc.Arbitrary<Case> =>
  fc.tuple(members, fc.array(any(levels), { minLength: 4, maxLength: 4 })).map(([named, cases]) => {
    const each = named.map(([name, required, absent], at) => ({
      name,
      required,
      absent,
      ...(cases[at] as Case),
    }));
    return {
      schema: {
        type: 'object',
        properties: Object.fromEntries(each.map(({ name, schema }) => [name, schema])),
        required: each.filter(({ required }) => required).map(({ name }) => name),
      },
      value: Object.fromEntries(
        each.map(({ name, required, absent, value }) => [name, absent && !required ? null : value]),
      ),
    };
  });

describe('whatever the schema', () => {
  it('its strict form is what OpenAI’s own SDK holds for one', () => {
    fc.assert(
      fc.property(record(4), ({ schema }) => {
        const strict = strictSchema(schema);
        fc.pre(strict !== undefined);
        expect(toStrictJsonSchema(structuredClone(strict))).toEqual(strict);
      }),
    );
  });

  it('what a model writes by it is taken by the tool', () => {
    fc.assert(
      fc.property(record(4), ({ schema, value }) => {
        const strict = strictSchema(schema);
        fc.pre(strict !== undefined);
        expect(compileSchema(strict).problemsOf(value)).toEqual([]);
        expect(compileSchema(schema).problemsOf(meant(schema, value))).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
