import fc from 'fast-check';
import { MessageReader } from './message-reader.js';

function read(lines: readonly string[], maxBytes = 10_000) {
  const seen: { messages: unknown[]; bytes: number[]; noise: string[]; overflows: number } = {
    messages: [],
    bytes: [],
    noise: [],
    overflows: 0,
  };
  const reader = new MessageReader(maxBytes, {
    message: (message, bytes) => {
      seen.messages.push(message);
      seen.bytes.push(bytes);
    },
    unparsed: (text) => text.trim() && seen.noise.push(text.trimEnd()),
    broken: () => false,
    overflow: () => seen.overflows++,
  });
  for (const text of lines) reader.line(text, Buffer.byteLength(text));
  reader.end();
  return seen;
}

const reply = (id: string, result: unknown = 'ok') => ({ jsonrpc: '2.0', id, result });
const onOneLine = (message: unknown) => JSON.stringify(message);
const pretty = (message: unknown, indent: string | number = 2) =>
  JSON.stringify(message, null, indent).split('\n');

describe('MessageReader', () => {
  it('reads one object a line', () => {
    expect(read([onOneLine(reply('1')), onOneLine(reply('2'))])).toMatchObject({
      messages: [reply('1'), reply('2')],
      noise: [],
    });
  });

  it('reads any object pretty-printed over several lines, with any indentation, between any chatter', () => {
    const chatter = fc.constantFrom(
      'starting…',
      'INFO ready',
      '[warn] x',
      '',
      '  ',
      '{not json',
      "{'a': 1}",
      '42',
      '}{',
      '"open',
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.json({ maxDepth: 4 }), fc.constantFrom(1, 2, 4, '\t'), chatter), {
          maxLength: 5,
        }),
        (cases) => {
          const messages = cases.map(([value], n) => reply(String(n), JSON.parse(value)));
          const lines = cases.flatMap(([, indent, noise], n) => [noise, ...pretty(messages[n], indent)]);
          expect(read(lines, 1_000_000).messages).toEqual(messages);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('reads the answer of the bash template, whose first and last lines hold several braces', () => {
    const lines = [
      '{"jsonrpc":"2.0","id":"0","result":{',
      '        "name":"x",',
      '        "inputSchema":{',
      '            "type":"object"',
      '        }',
      '    }}',
    ];
    expect(read(lines)).toMatchObject({
      messages: [{ jsonrpc: '2.0', id: '0', result: { name: 'x', inputSchema: { type: 'object' } } }],
      bytes: [Buffer.byteLength(lines.join('\n'))],
    });
  });

  it('tolerates CRLF, a byte order mark and white space around', () => {
    const { messages, noise } = read([
      `\uFEFF${onOneLine(reply('1'))}\r`,
      `  ${onOneLine(reply('2'))}  `,
      '\r',
      ...pretty(reply('3')).map((l) => `${l}\r`),
    ]);
    expect(messages).toEqual([reply('1'), reply('2'), reply('3')]);
    expect(noise).toEqual([]);
  });

  it('calls everything else noise, without blank lines', () => {
    const lines = [
      'Hello',
      '[1, 2]',
      '"text"',
      '42',
      'null',
      '',
      '{oops',
      "{'single': 1}",
      '{"a": tru}',
      '{"open',
      '}',
    ];
    expect(read(lines)).toMatchObject({ messages: [], noise: lines.filter(Boolean) });
  });

  it('loses no answer to a stray brace', () => {
    expect(read(['{', 'server is up', onOneLine(reply('1'))])).toMatchObject({
      messages: [reply('1')],
      noise: ['{', 'server is up'],
    });
    expect(read(['{ "half": [', onOneLine(reply('1'))])).toMatchObject({
      messages: [reply('1')],
      noise: ['{ "half": ['],
    });
    expect(read(['{', ...['{"jsonrpc":"2.0","id":"1",', '"result":"ok"}']])).toMatchObject({
      messages: [reply('1')],
      noise: ['{'],
    });
  });

  it('drops a candidate that closes too much or closes to something that is no JSON', () => {
    expect(read(['{', '}}', onOneLine(reply('1'))])).toMatchObject({
      messages: [reply('1')],
      noise: ['{', '}}'],
    });
    expect(read(['{', '"a" "b"', '}', onOneLine(reply('1'))])).toMatchObject({
      messages: [reply('1')],
      noise: ['{', '"a" "b"', '}'],
    });
  });

  it('is not misled by braces, quotes and backslashes inside strings', () => {
    const message = reply('1', ['}{][', '\\"}', '\\', '"']);
    expect(read(pretty(message)).messages).toEqual([message]);
  });

  it('calls an object that never ends noise when the output ends', () => {
    expect(read(['{', '"a": 1'])).toMatchObject({ messages: [], noise: ['{', '"a": 1'] });
  });

  it('stops at an object over the cap', () => {
    expect(read(['{', ...Array<string>(10).fill('"a": 1,')], 30)).toMatchObject({
      overflows: 1,
      messages: [],
    });
  });

  it('reads an object of very many lines, and says of one that is none how many there were', () => {
    const list = Array.from({ length: 100_000 }, (_, n) => n);
    const lines = pretty(reply('1', list));
    expect(read(lines, 10_000_000).messages).toEqual([reply('1', list)]);
    const counts: number[] = [];
    const reader = new MessageReader(10_000_000, {
      message: () => undefined,
      unparsed: (_text, count) => counts.push(count),
      broken: () => false,
      overflow: () => undefined,
    });
    for (const text of lines.slice(0, -1)) reader.line(text, text.length);
    reader.line('no JSON', 7);
    expect(counts).toHaveLength(22);
    expect(counts.reduce((sum, count) => sum + count)).toBe(lines.length);
  });
});
