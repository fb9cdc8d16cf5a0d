import { compileSchema } from '../../base/schemas/schema-compiler.js';
import type { ToolDefinition } from '../../web/contract/tool.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { type ToolFormat, toolFormats } from './tool-formats.js';
import { platformSchema } from './platform-schema.js';

// real: everything; mock: nothing

const text = { type: 'string' };
const props = (properties: object, more: object = {}): JsonSchema => ({ properties, ...more });
const a = props({ a: text }, { required: ['a', 'both'] });
const b = props({ b: text }, { required: ['both', 'b'] });
const odd = 'what? (ü)';
const long = 'x'.repeat(65);

interface Member {
  readonly schema: JsonSchema;
  /** Properties of the root that a model must be shown. */
  readonly shown?: string[];
  readonly required?: string[];
  /** Inputs that the tool's schema takes, with its own names. */
  readonly valid?: object[];
}

const members: Record<string, Member> = {
  'anyOf at the root': {
    schema: { type: 'object', anyOf: [a, b] },
    shown: ['a', 'b'],
    required: ['both'],
    valid: [
      { a: '', both: 1 },
      { b: '', both: 1 },
    ],
  },
  'oneOf at the root': { schema: { oneOf: [a, b] }, shown: ['a', 'b'], required: ['both'] },
  'allOf at the root': {
    schema: { ...props({ own: text }), allOf: [a, b] },
    shown: ['own', 'a', 'b'],
    required: ['a', 'both', 'b'],
    valid: [{ a: '', b: '', both: 1 }],
  },
  'nested combinators': {
    schema: { allOf: [{ anyOf: [a, { oneOf: [b, a] }] }] },
    shown: ['a', 'b'],
    required: ['both'],
  },
  'not, enum and const': {
    schema: { ...a, not: b, enum: [{ a: '', both: 1 }], const: { a: '', both: 1 } },
    shown: ['a'],
    required: ['a', 'both'],
  },
  'a reference at the root': {
    schema: { $ref: '#/$defs/in', $defs: { in: { ...a, additionalProperties: false } } },
    shown: ['a'],
    required: ['a', 'both'],
  },
  'a reference to itself': { schema: { ...a, anyOf: [{ $ref: '#' }, { $ref: '#/anyOf/0' }] }, shown: ['a'] },
  conditions: {
    schema: { ...a, if: b, then: props({ c: text }), else: props({ d: text }), dependentSchemas: { a: b } },
    shown: ['a', 'c', 'd', 'b'],
    required: ['a', 'both'],
  },
  'one name in several branches': {
    schema: {
      oneOf: [props({ kind: { const: 'x' } }), props({ kind: { const: 'y' } }), props({ kind: true })],
    },
    shown: ['kind'],
    valid: [{ kind: 'z' }],
  },
  'odd names': {
    schema: props({ [odd]: text, [long]: text, '': text, 'ok.na-me_1': text }, { required: [odd] }),
    valid: [{ [odd]: '', [long]: '', '': '', 'ok.na-me_1': '' }],
  },
  'odd names at depth': {
    schema: {
      ...props({
        list: { type: 'array', items: props({ [odd]: props({ $x: text }) }, { required: [odd] }) },
      }),
      $defs: { [odd]: props({ 'a b': text }, { additionalProperties: false }) },
      anyOf: [props({ deep: { $ref: `#/$defs/${encodeURIComponent(odd)}` } })],
      additionalProperties: true,
    },
    valid: [{ list: [{ [odd]: { $x: '' } }], deep: { 'a b': '' } }],
  },
  'references to odd or folded places': {
    schema: {
      properties: { 'a/b c': text, again: { $ref: '#/properties/a~1b%20c' } },
      anyOf: [props({ n: { type: 'integer' }, m: { $ref: '#/anyOf/0/properties/n' } })],
    },
    shown: ['n', 'm', 'again'],
    valid: [{ 'a/b c': '', again: '', n: 1, m: 2 }],
  },
  'dependencies between odd names': {
    schema: props({ 'a b': text, 'c d': text }, { dependentRequired: { 'a b': ['c d'] } }),
    valid: [{ 'a b': '', 'c d': '' }],
  },
  'names that imitate an alias': {
    schema: props({ 'a b': { const: 1 }, [aliasOf('a b')]: { const: 2 }, [odd]: text }),
    valid: [{ 'a b': 1, [aliasOf('a b')]: 2 }],
  },
  "names of JSON Schema's and of Object's": {
    schema: props({
      properties: props({ 'r?': text }),
      default: props({ 'd d': text }),
      ['__proto__']: text,
    }),
    shown: ['properties', 'default', '__proto__'],
    valid: [{ properties: { 'r?': '' }, default: { 'd d': '' } }],
  },
  'lists without items, and those of draft 7': {
    schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...props({
        any: { type: 'array' },
        pair: { type: 'array', items: [text, text], additionalItems: false },
      }),
    },
    valid: [{ any: [1], pair: ['', ''] }],
  },
};

function aliasOf(name: string): string {
  const { properties } = platformSchema(props({ [name]: text })).schema;
  return Object.keys(properties)[0] ?? '';
}

const definition = (inputSchema: JsonSchema): ToolDefinition => ({
  name: 'find',
  description: 'Finds',
  kind: 'custom',
  version: '1.0.0',
  inputSchema,
  annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
  tags: [],
  timeoutMs: 1,
});

const refusedAtRoot = [
  '$ref',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'enum',
  'const',
  'if',
  'then',
  'else',
  '$schema',
];

function expectTaken(schema: JsonSchema, isRoot = true): void {
  if (isRoot) expect(schema).toMatchObject({ type: 'object', properties: expect.any(Object) });
  for (const keyword of isRoot ? refusedAtRoot : []) expect(schema).not.toHaveProperty([keyword]);
  if (schema['type'] === 'array') expect(schema['items']).toBeDefined();
  for (const [keyword, part] of Object.entries(schema)) {
    const isMap = ['properties', '$defs'].includes(keyword);
    if (keyword === 'properties')
      for (const name of Object.keys(part as object)) expect(name).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
    const parts = isMap || Array.isArray(part) ? Object.values(part as object) : [part];
    for (const each of parts as unknown[])
      if (typeof each === 'object' && each !== null) expectTaken(each as JsonSchema, false);
  }
}

/** The input as a model would write it. */
function inAliases(input: unknown, schema: JsonSchema): unknown {
  if (typeof input !== 'object' || input === null) return input;
  if (Array.isArray(input)) return input.map((each) => inAliases(each, schema));
  const taken = new Map(
    namesIn(schema).map((name) => [platformSchema(schema).restored({ [name]: 0 }), name]),
  );
  const shown = (name: string): string =>
    [...taken].find(([own]) => Object.keys(own as object)[0] === name)?.[1] ?? name;
  return Object.fromEntries(
    Object.entries(input).map(([name, each]) => [shown(name), inAliases(each, schema)]),
  );
}

const namesIn = (schema: JsonSchema): string[] => [
  ...new Set(JSON.stringify(platformSchema(schema).schema).match(/[a-zA-Z0-9_.-]{1,64}(?=":)/g)),
];

describe.each(Object.entries(members))('%s', (_what, { schema, shown, required, valid = [] }) => {
  it.each<[ToolFormat, (described: never) => JsonSchema]>([
    ['openai', ({ function: { parameters } }: { function: { parameters: JsonSchema } }) => parameters],
    ['openai-responses', ({ parameters }: { parameters: JsonSchema }) => parameters],
    ['anthropic', ({ input_schema }: { input_schema: JsonSchema }) => input_schema],
    ['distri', ({ parameters }: { parameters: JsonSchema }) => parameters],
  ])('is such as %s takes, and takes what the tool takes', (format, schemaIn) => {
    const own = schemaIn(toolFormats[format](definition(schema)) as never);
    expectTaken(own);
    if (shown) expect(Object.keys(own['properties'] as object)).toEqual(expect.arrayContaining(shown));
    if (required) expect([...(own['required'] as string[])].sort()).toEqual([...required].sort());
    for (const input of valid) {
      expect(compileSchema(schema).problemsOf(input)).toEqual([]);
      const written = inAliases(input, schema);
      expect(compileSchema(own).problemsOf(written)).toEqual([]);
      expect(platformSchema(schema).restored(written)).toEqual(input);
    }
  });

  it('has parameters for HolmesGPT that its model takes', () => {
    const { parameters } = toolFormats.holmes(definition(schema));
    for (const name of Object.keys(parameters)) expect(name).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
    if (shown) expect(Object.keys(parameters)).toEqual(expect.arrayContaining(shown));
  });
});

it('an ordinary schema stays as it is', () => {
  const schema = {
    type: 'object',
    ...props({ z: text, a: { anyOf: [text, { type: 'null' }] } }),
    required: ['z'],
  };
  expect(JSON.stringify(platformSchema(schema).schema)).toBe(JSON.stringify(schema));
});

it('a name that was written beside its alias is left alone', () => {
  const { restored } = platformSchema(props({ 'a b': text }));
  const both = { 'a b': 1, [aliasOf('a b')]: 2 };
  expect(restored(both)).toEqual(both);
});
