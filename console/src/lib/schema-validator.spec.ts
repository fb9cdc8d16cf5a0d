import type { RJSFSchema } from '@rjsf/utils';
import { schemaValidator } from './schema-validator.js';

const messages = (schema: object, data: unknown): string[] =>
  schemaValidator
    .validateFormData(data, schema)
    .errors.map(({ property, message }) => `${property} ${message}`);

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    'a/b': { type: 'integer' },
    next: { $ref: '#/$defs/link' },
  },
  required: ['name'],
  $defs: { link: { type: 'object', properties: { to: { $ref: '#/$defs/link' }, id: { type: 'integer' } } } },
};

it('names each field that is wrong, once', () => {
  expect(messages(person, { 'a/b': 'x', next: { to: { id: 1.5 } } })).toEqual([
    '.name is required',
    expect.stringMatching(/^\.a\/b type "string" is invalid/),
    expect.stringMatching(/^\.next\.to\.id type "number" is invalid/),
  ]);
  expect(messages(person, { name: 'Ada', next: undefined })).toEqual([]);
});

it.each(['my field', 'größe', 'a.b', 'a/b~c', '100%', 'a#b?', 'list[0]'])('finds the field %j', (name) => {
  const inner: RJSFSchema = { type: 'object', properties: { [name]: { type: 'integer' } }, required: [name] };
  const schema: RJSFSchema = { type: 'object', properties: { [name]: inner } };
  const errorsOf = (data: unknown) => {
    const { errorSchema } = schemaValidator.validateFormData({ [name]: data }, schema);
    return (errorSchema as Record<string, Record<string, unknown>>)[name]?.[name];
  };
  expect(errorsOf({ [name]: 'x' })).toEqual({
    __errors: [expect.stringMatching(/^type "string" is invalid/)],
  });
  expect(errorsOf({})).toEqual({ __errors: ['is required'] });
  expect(errorsOf({ [name]: '9007199254740993' })).toEqual({
    __errors: [expect.stringMatching(/^is larger than/)],
  });
});

// prevents a number from being sent with other digits than those that were typed
it('refuses whole numbers that JavaScript rounds, wherever they are', () => {
  const wrong = 'is larger than 9007199254740991: a number in JSON cannot hold it exactly';
  expect(messages({}, { list: [2 ** 53, -1e300], least: -9007199254740991 })).toEqual([
    `.list.0 ${wrong}`,
    `.list.1 ${wrong}`,
  ]);
});

it('chooses among alternatives that refer to the rest of the schema, at the root as well', () => {
  const options: RJSFSchema[] = [{ $ref: '#/$defs/id' }, { type: 'string' }];
  const root: RJSFSchema = { $defs: { id: { type: 'integer' } }, anyOf: options };
  expect(options.map((option) => schemaValidator.isValid(option, 5, root))).toEqual([true, false]);
  expect(messages(root, true)).not.toEqual([]);
  expect(messages(root, 'x')).toEqual([]);
});

it('tells of alternatives what is wrong with the one that comes nearest', () => {
  const branch = (kind: string, more: object) => ({
    properties: { kind: { const: kind }, ...more },
    required: ['kind', ...Object.keys(more)],
  });
  const oneOf = [branch('id', { id: { type: 'integer' } }), branch('query', { query: { type: 'string' } })];
  expect(messages({ type: 'object', oneOf }, { kind: 'query' })).toEqual(['.query is required']);
  expect(messages({ oneOf: [{ type: 'integer' }, { minimum: 1 }] }, 5)).toEqual([
    expect.stringContaining('2 matches'),
  ]);
});

it('takes a schema that it cannot read for one that says nothing more', () => {
  expect(messages({ $ref: '#/$defs/absent' }, {})).toEqual([
    expect.stringContaining('The schema cannot be read here'),
  ]);
  expect(schemaValidator.isValid({ $ref: '#/$defs/absent' }, {}, {})).toBe(false);
});
