import { Problem } from '../common/errors.js';
import { compileInputSchema } from './input-validator.js';

const limits = { schemaMaxBytes: 65_536, schemaMaxDepth: 32 };
const compile = (schema: unknown) => compileInputSchema(schema, limits);

describe('compileInputSchema', () => {
  it('names every wrong field by its pointer', () => {
    const validate = compile({
      type: 'object',
      properties: {
        query: { type: 'string' },
        limit: { type: 'integer', maximum: 10 },
        kind: { enum: ['a', 'b'] },
      },
      required: ['query'],
      additionalProperties: false,
    });
    expect(validate({ query: 'x', limit: 3, kind: 'a' })).toEqual([]);
    expect(validate({ limit: 11, kind: 'c', 'a/b': 1 })).toEqual(
      expect.arrayContaining([
        { pointer: '/query', detail: 'is required' },
        { pointer: '/a~1b', detail: 'is not a known field' },
        { pointer: '/limit', detail: 'must be <= 10' },
        { pointer: '/kind', detail: 'must be equal to one of the allowed values: "a", "b"' },
      ]),
    );
  });

  it.each([
    ['not an object', 'text', 'must be a JSON Schema object'],
    ['an array', [], 'must be a JSON Schema object'],
    ['an unknown type', { type: 'strnig' }, 'is not a valid JSON Schema'],
    ['a reference elsewhere', { $ref: 'https://example.com/schema.json' }, 'is not a valid JSON Schema'],
    ['a pattern with look-ahead', { type: 'string', pattern: '(?=a)b' }, 'is not a valid JSON Schema'],
    ['too many bytes', { description: 'x'.repeat(70_000) }, 'the cap is 65536 (TOOL_SCHEMA_MAX_BYTES)'],
    ['too deep', deep(40), 'nested deeper than 32 levels (TOOL_SCHEMA_MAX_DEPTH)'],
  ])('refuses %s', (_name, schema, detail) => {
    expect(() => compile(schema)).toThrow(Problem);
    expect(() => compile(schema)).toThrow(detail);
  });

  it('matches hostile patterns in linear time', () => {
    const validate = compile({ type: 'string', pattern: '^(a|a)*$' });
    // Exponential in a backtracking engine: 2^60 steps would never end.
    expect(validate(`${'a'.repeat(60)}b`)).toHaveLength(1);
    expect(validate('a'.repeat(60))).toEqual([]);
  });

  it('does not let a schema make its validation asynchronous', () => {
    const validate = compile({ $async: true, type: 'object', required: ['q'] });
    expect(validate({})).toEqual([{ pointer: '/q', detail: 'is required' }]);
  });

  it('tells the first twenty of a hundred thousand problems', () => {
    const validate = compile({ type: 'array', items: { type: 'string' } });
    expect(validate(Array.from({ length: 100_000 }, () => 1))).toHaveLength(20);
  });

  it('keeps several patterns of one schema apart', () => {
    const validate = compile({
      properties: { a: { type: 'string', pattern: '^a$' }, b: { type: 'string', pattern: '^b$' } },
    });
    expect(validate({ a: 'a', b: 'b' })).toEqual([]);
    expect(validate({ a: 'b', b: 'a' }).map(({ pointer }) => pointer)).toEqual(['/a', '/b']);
  });

  it('reads a schema of another dialect and unknown keywords as annotations', () => {
    const validate = compile({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      'x-order': 1,
    });
    expect(validate({})).toEqual([]);
    expect(validate(1)).toEqual([{ pointer: '', detail: 'must be object' }]);
  });
});

function deep(levels: number): object {
  return levels === 0 ? {} : { properties: deep(levels - 1) };
}
