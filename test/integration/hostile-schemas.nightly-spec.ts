import { InputSchemas } from '../../src/base/schemas/input-validator.js';

const schemas = new InputSchemas();

afterAll(() => schemas.onApplicationShutdown());

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));
const named = (count: number, make: (n: number) => unknown) =>
  Object.fromEntries(times(count, (n) => [`p${n}`, make(n)]));
const as = (count: number): string => 'a'.repeat(count);
const nested = (levels: number, inner: unknown, wrap: (inner: unknown) => unknown): unknown =>
  levels === 0 ? inner : wrap(nested(levels - 1, inner, wrap));

type Ending = 'refused' | 'valid' | 'repaired' | 'invalid' | 'too costly';

async function endingOf(schema: object, input: unknown): Promise<Ending> {
  const validate = await schemas.compile(schema).catch(codeOf);
  if (typeof validate === 'string') return 'refused';
  const bytes = Buffer.byteLength(JSON.stringify(input));
  try {
    const verdict = await validate(input, bytes);
    if ('repaired' in verdict) return 'repaired';
    return verdict.length === 0 ? 'valid' : 'invalid';
  } catch (error) {
    expect(codeOf(error)).toBe('invalid_input');
    return 'too costly';
  }
}

const codeOf = (error: unknown): string => {
  const { code } = error as { code?: string };
  if (code === undefined) throw error;
  return code;
};

describe('patterns that backtrack', () => {
  it.each<[string, string, Ending]>([
    ['^(a|a)*$', `${as(50_000)}b`, 'invalid'],
    ['^(a+)+$', `${as(50_000)}b`, 'invalid'],
    ['^(a*)*$', `${as(50_000)}b`, 'invalid'],
    ['^([a-z]+)*\\d$', as(50_000), 'invalid'],
    ['(.*)*x', as(50_000), 'invalid'],
    ['^(\\w+\\s?)*$', `${as(50_000)}!`, 'invalid'],
    ['^a{0,90}a{0,90}$', as(150), 'valid'],
    ['^a{0,4000}$', as(4_001), 'invalid'],
    ['^(?:a?){1500}a{1500}$', as(1_499), 'invalid'],
    ['a{1001}', as(1_000), 'invalid'],
  ])('%s', async (pattern, input, ending) => {
    expect(await endingOf({ pattern }, input)).toBe(ending);
    expect(await endingOf({ patternProperties: { [pattern]: false } }, { [input]: 1 })).toBe(
      { valid: 'invalid', invalid: 'valid' }[ending as string] ?? ending,
    );
  });
});

describe('patterns that RE2 cannot express are left out', () => {
  it.each([
    ...['(?=a)a', '(a)\\1', '((a{100}){100}){100}', '^a{0,20000}$', '^(a{1,40}){1,400}$', 'a{1000000}', '['],
    '('.repeat(30_000),
  ])('%s', async (pattern) => {
    const { warnings } = await schemas.compile({ pattern });
    expect(warnings).toEqual([expect.stringMatching(/^\/pattern of its inputSchema is left out \(/)]);
    expect(await endingOf({ pattern }, 'b')).toBe('valid');
    expect(await endingOf({ patternProperties: { [pattern]: false } }, { b: 1 })).toBe('valid');
  });
});

describe('references in circles', () => {
  const ref = ($ref: string) => ({ $ref });
  const link = (n: number) => ref(`#/$defs/p${n}`);
  it.each<[string, object, unknown, Ending]>([
    ['itself', ref('#'), {}, 'refused'],
    ['each other', { $defs: { p0: link(1), p1: link(0) }, ...link(0) }, {}, 'refused'],
    ['itself in allOf', { allOf: [ref('#')] }, {}, 'refused'],
    ['itself negated', { not: ref('#') }, {}, 'refused'],
    ['itself by a dynamic reference', { $dynamicAnchor: 'a', allOf: [{ $dynamicRef: '#a' }] }, {}, 'refused'],
    ['itself behind a condition', { if: { required: ['x'] }, then: ref('#') }, { x: 1 }, 'refused'],
    ['itself in each property, as lists are', { additionalProperties: ref('#') }, { a: { b: {} } }, 'valid'],
    ['itself in each item', { type: 'array', items: ref('#') }, [[[]], 1], 'invalid'],
    ['a chain of one', { $defs: { p0: link(1), p1: { type: 'null' } }, ...link(0) }, null, 'valid'],
    ['a chain that doubles', doubling(29), {}, 'refused'],
    [
      'itself twice in items',
      { anyOf: times(2, () => ({ items: ref('#'), minItems: 1 })) },
      deepArrays(),
      'too costly',
    ],
  ])('%s', async (_what, schema, input, ending) => {
    expect(await endingOf(schema, input)).toBe(ending);
  });

  function doubling(levels: number): object {
    return {
      $defs: { ...named(levels, (n) => ({ allOf: [link(n + 1), link(n + 1)] })), [`p${levels}`]: {} },
      ...link(0),
    };
  }

  function deepArrays(): unknown {
    return nested(60, [], (inner) => [inner]);
  }
});

describe('references to elsewhere are left out', () => {
  it.each([
    'http://127.0.0.1:1/schema.json',
    'https://json-schema.org/draft/2020-12/schema',
    'file:///etc/passwd',
    'other.json',
    '#/$defs/none',
    '#nowhere',
    'urn:uuid:00000000-0000-0000-0000-000000000000',
    '//127.0.0.1/x',
    '#/__proto__/x',
  ])('%s', async ($ref) => {
    expect(await endingOf({ properties: { a: { $ref } } }, { a: 1 })).toBe('valid');
  });
});

describe('what is large, or becomes large', () => {
  const a = { properties: named(400, () => ({ type: 'string', minLength: 1 })) };
  it.each<[string, object, unknown, Ending]>([
    ['many bytes', { description: as(65_536) }, {}, 'refused'],
    ['many levels', nested(33, {}, (inner) => ({ not: inner })) as object, {}, 'refused'],
    [
      'a definition referred to 100 times',
      { $defs: { a }, allOf: times(100, () => ({ $ref: '#/$defs/a' })) },
      {},
      'valid',
    ],
    [
      'a thousand large patterns',
      { allOf: times(1_000, (n) => ({ pattern: `(a|b|c|d){1000}${n}` })) },
      '',
      'refused',
    ],
    ['a long enum', { enum: times(5_000, (n) => n) }, 4_999, 'valid'],
    ['a long list of what is required', { required: times(100, (n) => `p${n}`) }, {}, 'invalid'],
    ['a length that nobody reaches', { maxLength: Number.MAX_SAFE_INTEGER }, as(60_000), 'valid'],
    ['numbers without end', { multipleOf: 1e-300 }, 1e300, 'invalid'],
    [
      'members named like an object’s own',
      { required: ['toString', '__proto__', 'constructor'] },
      {},
      'invalid',
    ],
    ['a property that all objects inherit', { properties: { toString: { type: 'null' } } }, {}, 'valid'],
    [
      'members of a prototype',
      { propertyNames: { not: { const: '__proto__' } } },
      JSON.parse('{"__proto__":1}'),
      'invalid',
    ],
  ])('%s', async (_what, schema, input, ending) => {
    expect(await endingOf(schema, input)).toBe(ending);
  });

  it('three thousand rules: a fast machine compiles them within the time limit', async () => {
    const schema = { allOf: times(3_000, () => ({ type: 'null' })) };
    expect(['refused', 'invalid']).toContain(await endingOf(schema, 0));
  });
});

describe('what would be code where it became part of the compiler’s', () => {
  const evil = 'globalThis.wasHere=1';
  const texts = [
    `");${evil};("`,
    `*/${evil}/*`,
    `\${${evil}}`,
    `'];${evil};['`,
    `\u2028${evil}\u2029`,
    `\n${evil}\n`,
    `</script>${evil}`,
  ];
  it.each(texts)('%j', async (text) => {
    const places = [
      { properties: { [text]: { type: 'string' } }, required: [text] },
      { $id: text },
      { $defs: { [text]: {} }, $ref: `#/$defs/${encodeURIComponent(text)}` },
      { enum: [text] },
      { const: { [text]: text } },
      { pattern: text },
      { patternProperties: { [text]: {} } },
      { $comment: text, title: text, [text]: text },
      { dependentRequired: { [text]: [text] } },
      { $anchor: text },
    ];
    for (const schema of places) await endingOf(schema, { [text]: text });
    expect(globalThis).not.toHaveProperty('wasHere');
    // The right reading of the one that is data alone: the field has to be there.
    expect(await endingOf(places[0] as object, {})).toBe('invalid');
    expect(await endingOf(places[0] as object, { [text]: '' })).toBe('valid');
  });
});
