import { holmesParameters } from './tool-formats.js';

// real: everything; mock: nothing. test/platforms gives the same to HolmesGPT's own classes.

const parametersOf = (properties: object, more: object = {}) =>
  holmesParameters({ type: 'object', properties, ...more });

describe('holmesParameters', () => {
  it('says of each property whether it is required, at every level', () => {
    const where = {
      type: 'object',
      properties: { path: { type: 'string' }, deep: { type: 'boolean' } },
      required: ['path'],
      additionalProperties: false,
    };
    expect(parametersOf({ where, tags: { type: 'array', items: where } }, { required: ['tags'] })).toEqual({
      where: {
        type: 'object',
        required: false,
        properties: { path: { type: 'string', required: true }, deep: { type: 'boolean', required: false } },
        additional_properties: false,
      },
      tags: {
        type: 'array',
        required: true,
        items: expect.objectContaining({ required: true, type: 'object' }),
      },
    });
  });

  it('knows one type and an enum of texts, and keeps limits and the default for the model', () => {
    const count = { type: 'integer', minimum: 1, default: 10, description: 'How many', 'x-own': 1 };
    const level = { enum: [1, 2], type: ['null', 'integer'] };
    expect(parametersOf({ count, level, kind: { enum: ['a'] }, any: true })).toEqual({
      count: {
        type: 'integer',
        required: false,
        description: 'How many',
        json_schema_extra: { minimum: 1, default: 10 },
      },
      level: { type: 'integer', required: false },
      kind: { type: 'string', required: false, enum: ['a'] },
      any: { type: 'string', required: false },
    });
  });

  it('gives the branches of a choice, and takes one that may be null for the rest of it', () => {
    const orNull = { anyOf: [{ type: 'integer' }, { type: 'null' }], description: 'Maybe' };
    const either = { oneOf: [{ type: 'string' }, { type: 'integer' }] };
    expect(parametersOf({ orNull, either })).toMatchObject({
      orNull: { type: 'integer', description: 'Maybe' },
      either: { type: 'anyOf', any_of: [{ type: 'string' }, { type: 'integer' }] },
    });
  });

  it('writes references out, and one that holds itself once', () => {
    const tree = {
      type: 'object',
      properties: {
        left: { $ref: '#/$defs/a~1b' },
        right: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/a~1b' }] },
      },
      required: ['left'],
    };
    const root = { $ref: '#/$defs/a~1b', description: 'The tree' };
    expect(parametersOf({ root, lost: { $ref: '#/$defs/none' } }, { $defs: { 'a/b': tree } })).toEqual({
      root: {
        type: 'object',
        description: 'The tree',
        required: false,
        properties: { left: { type: 'object', required: true }, right: { type: 'object', required: false } },
      },
      lost: { type: 'string', required: false },
    });
  });

  it('stays small where references multiply', () => {
    const level = (number: number) => ({
      type: 'array',
      items: { anyOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/${number + 1}` })) },
    });
    const $defs = Object.fromEntries(Array.from({ length: 30 }, (_, number) => [number, level(number)]));
    expect(JSON.stringify(parametersOf({ root: { $ref: '#/$defs/0' } }, { $defs })).length).toBeLessThan(
      200_000,
    );
  });
});
