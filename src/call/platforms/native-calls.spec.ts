import type { ToolErrorBody, ToolOutcome } from '../../web/contract/tool-outcome.js';
import { nativeCall, readableOutcome, type ResultFormat } from './native-calls.js';

const base = { executionId: 'e', tool: 't', executionTimeMs: 1, attempts: 1, cached: false };
const answered = (result: unknown): ToolOutcome => ({ ...base, status: 'success', result });
const failed = (error: Partial<ToolErrorBody>, result?: unknown): ToolOutcome => ({
  ...base,
  status: 'error',
  error: { type: 'tool_error', code: -32001, message: 'no', ...error },
  ...(result !== undefined && { result }),
});

/** The content of the answer in a platform's form. */
function given(format: ResultFormat, outcome: ToolOutcome, isMcp = true): unknown {
  const call = nativeCall({ type: 'tool_use', id: 'c', name: 't', input: {} }, format);
  const { content, output, parts, result } = call?.answer(readableOutcome(outcome, isMcp), 5) as {
    content?: unknown;
    output?: unknown;
    parts?: { data: { result: unknown; error?: unknown } }[];
    result?: { data: unknown; error: unknown };
  };
  const [part] = parts ?? [];
  return content ?? output ?? part?.data.error ?? part?.data.result ?? result?.error ?? result?.data;
}

const png = 'iVBORw0KGgo=';
const pdf = Buffer.from('%PDF-1.7').toString('base64');
const text = (of: string) => ({ type: 'text', text: of });
const image = (mimeType = 'image/png', data = png) => ({ type: 'image', data, mimeType });
const resource = (more: object) => ({ type: 'resource', resource: { uri: 'file:///a/b.pdf', ...more } });
const blob = (mimeType: string, of: string) =>
  resource({ mimeType, blob: Buffer.from(of).toString('base64') });

/** The forms of a picture, and of a document, for platforms that take them. */
const anthropicImage = (media_type = 'image/png', data = png) => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
});
const input = (of: string) => ({ type: 'input_text', text: of });
const inputImage = { type: 'input_image', image_url: `data:image/png;base64,${png}` };
const anthropicPdf = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: pdf },
};
const inputPdf = (filename: string) => ({
  type: 'input_file',
  filename,
  file_data: `data:application/pdf;base64,${pdf}`,
});
const mark = '[image image/png, 8 bytes]';
const pdfMark = '[resource application/pdf, 8 bytes: file:///a/b.pdf]';

/** content, its text with marks, Anthropic's and OpenAI's form if they are not that text */
const contents: [string, unknown, string, unknown?, unknown?][] = [
  ['nothing', [], ''],
  ['a text', [text('a')], 'a'],
  ['texts', [text('a'), text('b')], 'a\nb'],
  ['a text alone in a list', 'a', 'a'],
  ['a picture', [image()], mark, [anthropicImage()], [inputImage]],
  [
    'a text and a picture',
    [text('a'), image()],
    `a\n${mark}`,
    [text('a'), anthropicImage()],
    [input('a'), inputImage],
  ],
  [
    'pictures between texts, of which one is blank',
    [image(), text(' \n'), image(), text('b')],
    `${mark}\n \n\n${mark}\nb`,
    [anthropicImage(), anthropicImage(), text('b')],
    [inputImage, inputImage, input('b')],
  ],
  [
    'a picture as a data URL',
    [image('image/png', `data:image/png;base64,${png}`)],
    mark,
    [anthropicImage()],
    [inputImage],
  ],
  ['a picture in lines', [image('image/png', 'iVBO\r\nRw0KGgo=\n')], mark, [anthropicImage()], [inputImage]],
  [
    'a picture whose type is spelt otherwise',
    [image('IMAGE/JPG; q=1', '/9j/')],
    '[image image/jpeg, 3 bytes]',
    [anthropicImage('image/jpeg', '/9j/')],
    [{ type: 'input_image', image_url: 'data:image/jpeg;base64,/9j/' }],
  ],
  ['a picture of a type that no platform takes', [image('image/tiff')], '[image image/tiff, 8 bytes]'],
  ['a picture that is no base64', [image('image/png', '<svg/>')], '[image image/png, 4 bytes]'],
  ['a picture that is empty', [image('image/png', '')], '[image image/png, 0 bytes]'],
  [
    'a picture that is empty beside one that is not',
    [image('image/png', ''), image()],
    `[image image/png, 0 bytes]\n${mark}`,
    [text('[image image/png, 0 bytes]'), anthropicImage()],
    [input('[image image/png, 0 bytes]'), inputImage],
  ],
  ['a recording', [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }], '[audio audio/wav, 3 bytes]'],
  ['a resource with text', [resource({ mimeType: 'text/x-python', text: 'a = 1' })], 'a = 1'],
  ['a resource with text and blob', [resource({ text: 'a', blob: 'AAAA' })], 'a'],
  ['a resource in bytes that are text', [blob('text/csv; charset=utf-8', 'a,ü')], 'a,ü'],
  ['a resource in bytes that are JSON', [blob('application/json', '{"a":1}')], '{"a":1}'],
  [
    'a resource that is a picture',
    [resource({ mimeType: 'image/png', blob: png })],
    '[resource image/png, 8 bytes: file:///a/b.pdf]',
    [anthropicImage()],
    [inputImage],
  ],
  ['a document', [blob('application/pdf', '%PDF-1.7')], pdfMark, [anthropicPdf], [inputPdf('b.pdf')]],
  [
    'a document without a name',
    [resource({ uri: 'db://7', mimeType: 'application/pdf', blob: pdf })],
    '[resource application/pdf, 8 bytes: db://7]',
    [anthropicPdf],
    [inputPdf('document.pdf')],
  ],
  [
    'a resource of another type',
    [blob('application/zip', 'PK')],
    '[resource application/zip, 2 bytes: file:///a/b.pdf]',
  ],
  ['a resource without a type', [resource({ blob: 'AAAA' })], '[resource, 3 bytes: file:///a/b.pdf]'],
  [
    'a link',
    [{ type: 'resource_link', uri: 'file:///c', name: 'c', mimeType: 'text/plain' }],
    '[c text/plain: file:///c]',
  ],
  ['a link alone', [{ type: 'resource_link', uri: 'file:///c', name: 'c' }], '[c: file:///c]'],
  [
    'a file of an unknown kind',
    [{ type: 'video', data: 'AAAA', mimeType: 'video/mp4' }],
    '[video video/mp4, 3 bytes]',
  ],
  ['a block of an unknown kind', [{ type: 'chart', points: [1] }], '{"type":"chart","points":[1]}'],
];

describe.each(contents)('%s in content', (_what, content, marked, ofAnthropic, ofResponses) => {
  it.each<[ResultFormat, unknown]>([
    ['openai', marked],
    ['anthropic', ofAnthropic ?? marked],
    ['openai-responses', ofResponses ?? marked],
    ['distri', marked],
    ['holmes', marked === '' ? null : marked],
  ])('for %s', (format, expected) => {
    expect(given(format, answered({ content }))).toEqual(expected);
  });

  it('is text alone beside an error, for Anthropic', () => {
    const data = { content, isError: true };
    for (const outcome of [failed({ message: 'no', data }), answered(data)])
      expect(typeof given('anthropic', outcome)).toBe('string');
    expect(given('openai', failed({ data }))).toBe(
      marked === '' ? 'tool_error: no' : `tool_error: no\n${marked}`,
    );
  });
});

describe('nothing is given twice', () => {
  const structured = { a: 1, b: 'ü' };
  const json = JSON.stringify(structured);
  it.each<[string, object, string, unknown?]>([
    ['beside its text', { content: [text(json)], structuredContent: structured }, json, structured],
    [
      'beside its text, indented',
      { content: [text(JSON.stringify(structured, null, 2))], structuredContent: structured },
      JSON.stringify(structured, null, 2),
      structured,
    ],
    ['alone', { structuredContent: structured }, json, structured],
    ['beside none', { content: [], structuredContent: structured }, json, structured],
    ['beside another text', { content: [text('done')], structuredContent: structured }, `done\n${json}`],
    [
      'that FastMCP wraps',
      { content: [text('a')], structuredContent: { result: 'a' } },
      'a',
      { result: 'a' },
    ],
    [
      'that FastMCP wraps, as a list',
      { content: [text('a'), text('b')], structuredContent: { result: ['a', 'b'] } },
      'a\nb',
    ],
    [
      'that repeats a picture',
      { content: [image(), text('a')], structuredContent: { a: 'a', data: 'QUJD'.repeat(99) } },
      `${mark}\na\n{"a":"a","data":"[396 characters of base64]"}`,
    ],
  ])('of structured content %s', (_what, result, expected, value = expected) => {
    expect(given('openai', answered(result))).toBe(expected);
    expect(given('holmes', answered(result))).toEqual(value);
    expect(given('distri', answered(result))).toEqual(value);
  });
});

describe("another tool's result", () => {
  it('in the form of MCP is read as such, and keeps its other members', () => {
    const outcome = answered({ content: [image()], width: 2 });
    expect(given('anthropic', outcome, false)).toEqual([anthropicImage(), text('{"width":2}')]);
    expect(given('openai', outcome, false)).toBe(`${mark}\n{"width":2}`);
  });

  it.each([
    { content: [] },
    { content: 'a' },
    { content: [{ type: 'paragraph' }] },
    { a: 1 },
    [1],
    null,
    'a',
  ])('is given as it is: %j', (result) => {
    for (const format of ['openai', 'anthropic', 'openai-responses'] as const)
      expect(given(format, answered(result), false)).toBe(
        typeof result === 'string' ? result : JSON.stringify(result),
      );
  });
});

describe('an error', () => {
  const url = 'https://shop.example/connect';
  it.each<[string, ToolOutcome, string]>([
    ['has no details', failed({}), 'tool_error: no'],
    ['has a code of its own', failed({ code: -32042 }), 'tool_error: no\ncode: -32042'],
    [
      'has data',
      failed({ code: -32042, data: { elicitations: [{ url }] } }),
      `tool_error: no\ncode: -32042\ndata: {"elicitations":[{"url":"${url}"}]}`,
    ],
    ['has a text as data', failed({ data: 'the disk is full' }), 'tool_error: no\ndata: "the disk is full"'],
    ['repeats its message as data', failed({ data: 'no' }), 'tool_error: no'],
    ['has null as data', failed({ data: null }), 'tool_error: no'],
    [
      'has a file as data',
      failed({ data: { png: 'QUJD'.repeat(99) } }),
      'tool_error: no\ndata: {"png":"[396 characters of base64]"}',
    ],
    [
      'has much data',
      failed({ data: 'a b '.repeat(2_000) }),
      `tool_error: no\ndata: "${'a b '.repeat(1_000).slice(0, 3_999)}\n… 4002 more characters were cut`,
    ],
    ['is a time-out', failed({ type: 'timeout', code: -32000, message: 'late' }), 'timeout: late'],
    ['has a fallback', failed({ code: -32042, data: { url } }, 'try later'), 'try later'],
    [
      'is in content',
      failed({ message: 'no\nway', data: { isError: true, content: [text('no'), text('way')] } }),
      'tool_error: no\nway',
    ],
    [
      'has structured content',
      failed({ data: { isError: true, content: [text('no')], structuredContent: { a: 1 } } }),
      'tool_error: no\n{"a":1}',
    ],
    [
      'is structured content',
      failed({ message: '{"a":1}', data: { isError: true, content: [], structuredContent: { a: 1 } } }),
      'tool_error: {"a":1}',
    ],
  ])('that %s', (_what, outcome, expected) => {
    for (const format of ['openai', 'anthropic', 'openai-responses', 'distri', 'holmes'] as const)
      expect(given(format, outcome)).toBe(expected);
  });

  it('gives its picture to a platform that takes one', () => {
    const outcome = failed({ data: { isError: true, content: [text('no'), image()] } });
    expect(given('openai-responses', outcome)).toEqual([input('tool_error: no'), inputImage]);
    expect(given('anthropic', outcome)).toBe(`tool_error: no\n${mark}`);
  });
});
