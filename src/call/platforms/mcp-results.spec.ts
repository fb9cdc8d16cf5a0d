import { contains, mcpResult, partsOf } from './mcp-results.js';

const text = (of: string) => ({ type: 'text', text: of });
const picture = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };
const long = 'QUJD'.repeat(100);

describe('a result of an MCP server', () => {
  it.each<[string, unknown, unknown[]]>([
    ['blocks that clients know', [text('a'), picture], [text('a'), picture]],
    ['no content', [], []],
    ['null', null, []],
    ['a text', 'a', [text('a')]],
    ['an empty text', '', [text('')]],
    ['a number', 7, [text('7')]],
    ['one block', picture, [picture]],
    ['texts', ['a', 'b'], [text('a'), text('b')]],
    ['a number as text', [{ type: 'text', text: 7 }], [text('7')]],
    ['an object as text', [{ type: 'text', text: { a: 1 } }], [text('{"a":1}')]],
    ['null as text', [{ type: 'text', text: null }], [text('')]],
    ['a text without a type', [{ text: 'a' }], [text('a')]],
    ['nulls in a block', [{ ...text('a'), annotations: null, _meta: null }], [text('a')]],
    ['an unknown block with text', [{ type: 'note', text: 'a' }], [text('a')]],
    ['an unknown block', [{ type: 'chart', points: [1] }], [text('{"type":"chart","points":[1]}')]],
    [
      'an unknown file',
      [{ type: 'video', data: 'AA==', mimeType: 'video/mp4' }],
      [text('[video video/mp4, 1 bytes]')],
    ],
    ['a picture without its type', [{ type: 'image', data: 'AAAA' }], [text('[image, 3 bytes]')]],
    [
      'a resource without its URI',
      [{ type: 'resource', resource: { text: 'a' } }],
      [text('{"type":"resource","resource":{"text":"a"}}')],
    ],
    [
      "another platform's picture",
      [{ type: 'image', source: { type: 'base64', data: long } }],
      [text('{"type":"image","source":{"type":"base64","data":"[400 characters of base64]"}}')],
    ],
  ])('with %s as content', (_what, content, expected) => {
    expect(mcpResult({ content }, true)).toEqual({ content: expected });
  });

  it.each<[string, unknown, object]>([
    ['nothing', {}, { content: [] }],
    ['null', null, { content: [] }],
    ['a text', 'a', { content: [text('a')] }],
    ['a list of blocks', [text('a')], { content: [text('a')] }],
    ['one block', text('a'), { ...text('a'), content: [text('a')] }],
    ['members of its own', { a: 1 }, { a: 1, content: [text('{"a":1}')] }],
    ['meta alone', { _meta: { a: 1 } }, { _meta: { a: 1 }, content: [] }],
    ['an error without a reason', { isError: true }, { isError: true, content: [] }],
    ['an error that is no truth value', { content: [], isError: 'yes' }, { content: [] }],
    [
      'structured content alone',
      { structuredContent: { text: 'a' } },
      { content: [text('{"text":"a"}')], structuredContent: { text: 'a' } },
    ],
    [
      'a structured list beside its text',
      { content: [text('[1]')], structuredContent: [1] },
      { content: [text('[1]')], structuredContent: [1] },
    ],
    [
      'a structured list beside another text',
      { content: [text('a')], structuredContent: [1] },
      { content: [text('a'), text('[1]')], structuredContent: [1] },
    ],
    [
      'a structured list alone',
      { content: [], structuredContent: [1] },
      { content: [text('[1]')], structuredContent: [1] },
    ],
    ['structured content of null', { content: [], structuredContent: null }, { content: [] }],
  ])('that is %s', (_what, value, expected) => {
    expect(mcpResult(value, true)).toEqual(expected);
  });
});

it.each([
  [{ content: [text('a'), { type: 'film' }] }, true],
  [{ content: [], structuredContent: { a: 1 } }, true],
  [{ structuredContent: {} }, true],
  [{ content: [] }, false],
  [{ content: 'a' }, false],
  [{ content: [{ type: 'paragraph', content: [] }] }, false],
  [{ content: [], structuredContent: [1] }, false],
  [[text('a')], false],
  [text('a'), false],
  ['a', false],
  [null, false],
])("another tool's value %j has the form of a result: %s", (value, expected) => {
  expect(mcpResult(value, false) !== undefined).toBe(expected);
});

it.each<[string[], unknown, boolean]>([
  [['{"a":1,"b":[2]}'], { a: 1, b: [2] }, true],
  [['{\n  "b": [2],\n  "a": 1.0\n}'], { a: 1, b: [2] }, true],
  [['Done.', '{"a":1}'], { a: 1 }, true],
  [['a'], 'a', true],
  [['"a"'], 'a', true],
  [['a'], { result: 'a' }, true],
  [['7'], { result: 7 }, true],
  [['97 % used'], { output: '97 % used' }, true],
  [['[FILE] a.txt'], { content: '[FILE] a.txt' }, true],
  [['a', 'b'], { items: ['a', 'b'] }, true],
  [['a'], { content: [text('a')] }, true],
  [['a'], { content: [text('b')] }, false],
  [['a'], { output: 'a', more: 1 }, false],
  [['1', '{"a":1}'], { result: [1, { a: 1 }] }, true],
  [['[1,2]'], [1, 2], true],
  [['{"a":1}'], { a: 2 }, false],
  [['{"a":1}'], { a: 1, b: 2 }, false],
  [['a: 1'], { a: 1 }, false],
  [['1'], { result: [1, 2] }, false],
  [[], { a: 1 }, false],
  [['['.repeat(100_000)], { a: 1 }, false],
  [[`${'['.repeat(100_000)}${']'.repeat(100_000)}`], { a: 1 }, false],
])('%.60j gives %j: %s', (texts, value, expected) => {
  expect(contains(texts, value)).toBe(expected);
});

it('a picture that is content and structured content is given once', () => {
  const { content, structuredContent } =
    mcpResult({ content: [picture], structuredContent: { content: [picture] } }, true) ?? {};
  expect(partsOf({ content: content ?? [], structuredContent }, true)).toHaveLength(1);
});
