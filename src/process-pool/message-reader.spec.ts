import fc from 'fast-check';
import { MessageReader, WrittenResult } from './message-reader.js';

function read(lines: readonly string[], maxBytes = 10_000) {
  const seen: { messages: unknown[]; bytes: number[]; noise: string[]; overflows: number } = {
    messages: [],
    bytes: [],
    noise: [],
    overflows: 0,
  };
  const reader = new MessageReader(maxBytes, {
    message: (message, bytes) => {
      // As it is read at large; a plain answer's own text is looked at below.
      seen.messages.push(message instanceof WrittenResult ? reply(message.id, message.result) : message);
      seen.bytes.push(bytes);
    },
    noise: (text) => seen.noise.push(text),
    overflow: () => seen.overflows++,
  });
  for (const text of lines) reader.line(text, Buffer.byteLength(text));
  reader.end();
  return seen;
}

const fail = (): never => {
  throw new Error('It is neither noise nor too long');
};
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

  it('keeps the JSON of a result as the tool wrote it, where nothing else follows', () => {
    const results = (lines: readonly string[]): unknown[] => {
      const seen: unknown[] = [];
      const message = (said: unknown): void =>
        void seen.push(said instanceof WrittenResult ? said.json : said);
      const reader = new MessageReader(100_000, { message, noise: fail, overflow: fail });
      for (const line of lines) reader.line(line, Buffer.byteLength(line));
      return seen;
    };
    const python = '{"jsonrpc": "2.0", "id": "7", "result": {"n": 12345678901234567890, "n": 1.0}}';
    expect(results([python])).toEqual(['{"n": 12345678901234567890, "n": 1.0}']);
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), (json) => {
        expect(results([`{"jsonrpc":"2.0","id":"1","result":${json}}`])).toEqual([json]);
      }),
    );
    const others = [
      '{"jsonrpc":"2.0","id":"1","result":{"a":1},"error":null}',
      '{"jsonrpc":"2.0","id":"1","result":1,"result":{"a":2}}',
      '{"jsonrpc":"2.0","id":"1","result":{"a":1},"id":"2"}',
      '{"jsonrpc":"2.0","id":1,"result":[]}',
      '{"id":"1","jsonrpc":"2.0","result":[]}',
      '{"jsonrpc":"2.0","id":"1","result":{}} ',
    ];
    for (const line of others) expect(results([line])).toEqual([JSON.parse(line)]);
    // Whoever writes so once is read so: nothing is tried twice with every answer.
    const plain = onOneLine(reply('2'));
    expect(results([others[0] ?? '', plain])).toEqual([JSON.parse(others[0] ?? ''), reply('2')]);
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

  it('stops at an object over the cap and passes on a line over it', () => {
    expect(read(['{', ...Array<string>(10).fill('"a": 1,')], 30)).toMatchObject({
      overflows: 1,
      messages: [],
    });
    const overflows: string[] = [];
    const reader = new MessageReader(10, {
      message: () => undefined,
      noise: () => undefined,
      overflow: () => overflows.push('once'),
    });
    reader.overflow();
    expect(overflows).toEqual(['once']);
  });
});
