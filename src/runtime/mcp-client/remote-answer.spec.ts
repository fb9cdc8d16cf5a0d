import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { readAtMost } from '../../base/outbound/http-client.js';
import { beginningOf, decompressed, messagesIn, readEvents, readRefusal } from './remote-answer.js';

const limits = { maxBytes: 1_000, linesPerSecond: 1_000_000 };
const answerOf = (chunks: readonly Buffer[], headers: Record<string, string> = {}, statusCode = 200) =>
  decompressed({ statusCode, headers, body: Readable.from(chunks) } as unknown as Dispatcher.ResponseData);

async function eventsIn(chunks: readonly Buffer[]): Promise<[string[], string | undefined]> {
  const events: string[] = [];
  const wrong = await readEvents(
    answerOf(chunks),
    limits,
    async (text) => void events.push(text),
    new AbortController().signal,
  );
  return [events, wrong];
}

describe('readEvents', () => {
  it.each<[string, string[]]>([
    ['data: a\n\ndata: b\n\n', ['a', 'b']],
    ['data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['event: message\rdata: a\r\rdata: b\r\r', ['a', 'b']],
    ['data: a\r\n\rdata: b\n\r\n', ['a', 'b']],
    ['data: {\rdata: }\r\r', ['{\n}']],
    ['data: {\r\ndata: }\r\n\r\n', ['{\n}']],
    ['data:a\n\n', ['a']],
    ['\ufeffdata: a\n\n', ['a']],
    [': comment\n\n\nid: 1\nretry: 5\nevent: message\ndata: a\n\n', ['a']],
    ['data: a\n', ['a']],
    ['data: a', ['a']],
    ['data: a\r', ['a']],
    ['data: grüße 你好\r\r', ['grüße 你好']],
    ['event: message\n\n', []],
    ['', []],
  ])('reads %j, wherever it is divided', async (text, expected) => {
    const bytes = Buffer.from(text);
    expect(await eventsIn([bytes])).toEqual([expected, undefined]);
    expect(await eventsIn([...bytes].map((byte) => Buffer.of(byte)))).toEqual([expected, undefined]);
    for (let at = 1; at < bytes.length; at++)
      expect(await eventsIn([bytes.subarray(0, at), bytes.subarray(at)])).toEqual([expected, undefined]);
  });

  it.each(['\n', '\r', '\r\n'])(
    'does not read an event over the limit, by lines that end with %j',
    async (end) => {
      const wrong = 'Its answer is over 1000 bytes';
      expect(await eventsIn([Buffer.from(`data: ${'x'.repeat(2_000)}${end}${end}`)])).toEqual([[], wrong]);
      const lines = `data: ${'x'.repeat(90)}${end}`.repeat(20);
      expect(await eventsIn([Buffer.from(`${lines}${end}`)])).toEqual([[], wrong]);
    },
  );
});

describe('decompressed', () => {
  const text = Buffer.from('{"jsonrpc":"2.0"}');
  it.each<[string, Buffer]>([
    ['gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['identity', text],
    ['', text],
    ['constructor', text],
  ])('reads %j, whatever the status', async (encoding, bytes) => {
    for (const status of [200, 403]) {
      const { body } = answerOf(
        [bytes.subarray(0, 9), bytes.subarray(9)],
        { 'content-encoding': encoding },
        status,
      );
      expect((await readAtMost(body, 1_000)).body.toString()).toBe(text.toString());
    }
  });

  it('bounds what is decompressed, not what was sent', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, 'x'));
    expect(bomb.length).toBeLessThan(100_000);
    const answer = answerOf([bomb], { 'content-encoding': 'gzip' });
    const { body, whole } = await readAtMost(answer.body, 10_000);
    expect([body.length, whole, answer.body.destroyed]).toEqual([10_000, false, true]);
  });

  it('fails where the body is not what its header says', async () => {
    const { body } = answerOf([text], { 'content-encoding': 'gzip' });
    await expect(readAtMost(body, 1_000)).rejects.toThrow('incorrect header check');
  });
});

it.each<[string, string[]]>([
  ['{"a":1}', ['{"a":1}']],
  ['\ufeff {"a":1}\n', ['{"a":1}']],
  ['[{"id":12345678901234567890}]', ['{"id":12345678901234567890}']],
  [' [{"a":1},\n{"b":2}] ', ['{"a":1}', '{"b":2}']],
  ['[]', []],
  ['<html>', []],
  ['"text"', []],
  ['', []],
])('the messages in %j are %j', (text, expected) =>
  expect(messagesIn(text).filter((each) => each !== '')).toEqual(expected),
);

const redact = (text: string): string => text.replaceAll('s3cret&1', '[secret KEY]');

it.each<[string, string]>([
  ['slow down', 'slow down'],
  ['  many\n\n lines\t', 'many lines'],
  ['<html><title>Sign in</title></html>', 'Sign in'],
  [
    '<!DOCTYPE html><html><head><title>403 Forbidden</title><style>p{}</style><script>if (a<b) x()</script></head>' +
      '<body><!-- note --><h1>Request&nbsp;blocked</h1><p class="x">Ray &amp; id</p></body></html>',
    '403 Forbidden Request blocked Ray & id',
  ],
  ['<html><script>never ends', ''],
  ['<p>key s3cret&amp;1</p><body>', 'key [secret KEY]'],
  ['{"message":"s3cret&1 is wrong"}', '{"message":"[secret KEY] is wrong"}'],
  ['a <b> c', 'a <b> c'],
  ['\u0000\u001f\ufffd', ''],
  ['', ''],
])('%j begins with %j', (page, expected) => expect(beginningOf(page, redact)).toBe(expected));

it('is bounded in time and length', () => {
  const began = performance.now();
  for (const part of ['<', '<script>', '<!--', '&', '<a ']) {
    expect(beginningOf(`<html>${part.repeat(100_000)}`, redact).length).toBeLessThanOrEqual(302);
  }
  expect(performance.now() - began).toBeLessThan(2_000);
  expect(beginningOf('word '.repeat(1_000), redact)).toHaveLength(302);
});

it('reads why a server refused, from headers and body', async () => {
  const headers = { 'retry-after': '7', 'content-encoding': 'gzip' };
  const answer = answerOf([gzipSync('<html><title>Busy</title></html>')], headers, 429);
  const { error } = await readRefusal(answer, new URL('http://a/'), redact);
  expect(error).toEqual({ code: -32603, message: 'It answered 429: Busy; retry-after: 7' });
});
