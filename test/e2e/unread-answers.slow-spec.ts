import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';

// real: the whole server, PostgreSQL, processes; mock: nothing

const program = join(import.meta.dirname, '../fixtures/tools/writes.mjs');
const answer = (result: string): string => `{"jsonrpc":"2.0","id":"$ID","result":${result}}\n`;
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const maxMs = 2_000;

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
  await tk.register('writes', { args: [program], keepAlive: true });
});
afterAll(() => tk.close());

const call = async (text: string, timeoutMs = 3_000) => {
  // A dry run, so that no circuit opens.
  const sent = { input: { text }, context: { timeoutMs } };
  const { body } = await tk.http.post('/api/v1/custom-tools/writes/test').send(sent).expect(200);
  return body;
};

describe('an answer that is no JSON ends its call at once, and is quoted', () => {
  it.each([
    ['NaN, as Python writes it', answer('{"ratio":NaN}'), 'NaN'],
    ['Infinity', answer('-Infinity'), '-Infinity'],
    ['a progress bar in front of it', `\r 100%|####| 3/3 ${answer('1')}`, '100%|####|'],
    ['two answers on one line', answer('1').trimEnd() + answer('2'), '"result":1'],
    ['a line break in a text', answer('"a\nb"'), '"result":"a'],
    ['a comma too many', answer('{"a":1,}'), '{"a":1,}'],
    ['the id last', '{"result": None, "jsonrpc": "2.0", "id": "$ID"}\n', 'None'],
    ['an id that is a number', '{"jsonrpc":"2.0","id":$ID,"result":undefined}\n', 'undefined'],
    ['over several lines', '{\n "jsonrpc": "2.0",\n "id": "$ID",\n "result": NaN\n}\n', 'jsonrpc'],
    ['an error', '{"jsonrpc":"2.0","id":"$ID","error":{"code":-1,"message":\'no\'}}\n', "'no'"],
  ])('%s', async (_what, text, quoted) => {
    const { error, executionTimeMs } = await call(text);
    expect(error).toMatchObject({
      type: 'protocol_error',
      message: expect.stringContaining('its answer is not JSON: '),
    });
    expect(error.message).toContain(quoted);
    expect(executionTimeMs).toBeLessThan(maxMs);
  });

  it('the same for initialize, which names the line in the refusal', async () => {
    const broken = '{"jsonrpc":"2.0","id":"$ID","result":{"name":"writes","score":NaN}}\n';
    const definition = { name: 'broken_hello', description: 'd', command: 'node', args: [program, broken] };
    const { body } = await tk.http.post('/api/v1/custom-tools').send(definition).expect(400);
    expect(JSON.stringify(body)).toContain('its answer is not JSON: ');
    expect(JSON.stringify(body)).toContain('NaN');
  });

  it.each([
    [
      'the request, written to stdout as a log',
      '{"jsonrpc":"2.0","id":"$ID","method":"execute","params":nan}\n',
    ],
    ['a line that names another id', '{"jsonrpc":"2.0","id":"none","result":NaN}\n'],
    ['a record of a log', 'id: $ID, result: NaN\n'],
  ])('no other line does: %s', async (_what, noise) => {
    expect(await call(noise + answer('"fine"'))).toMatchObject({ status: 'success', result: 'fine' });
  });

  it('a call that times out quotes the last line that was no message', async () => {
    const { error } = await call('Traceback (most recent call last): boom\n', 700);
    expect(error).toMatchObject({
      type: 'timeout',
      message: expect.stringContaining('the last line that it wrote is not a message: Traceback'),
    });
  });
});

describe('an answer that is nested without end', () => {
  it.each([
    ['on one line', answer(`[${Array(500).fill(nested(900)).join()}]`)],
    ['in objects', answer(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`)],
    ['over several lines', `{\n"jsonrpc":"2.0",\n"id":"$ID",\n"result":\n${nested(1_500)}\n}\n`],
  ])('%s is refused before it is parsed', async (_what, text) => {
    const { error } = await call(text);
    expect(error).toMatchObject({
      type: 'protocol_error',
      message: expect.stringContaining('is nested deeper than 128 levels'),
    });
  });

  it('may have 120 levels', async () => {
    const text = answer(`[${Array(50).fill(nested(120)).join()}]`);
    expect((await call(text)).status).toBe('success');
  });
});

describe('a number that JSON would change', () => {
  it.each([
    ['a whole number', '{"rows":[{"id":1234567890123456789}]}', '/result/rows/0/id'],
    ['a negative one', '-9007199254740993', '/result'],
    ['one beyond every double', '{"a":1e999}', '/result/a'],
  ])('%s is refused with its place, and the process goes on', async (_what, result, pointer) => {
    const { error } = await call(answer(result));
    expect(error.type).toBe('protocol_error');
    expect(error.message).toContain(`${pointer} is a `);
    expect(error.message).toContain('send it as text');
    expect((await call(answer('2'))).result).toBe(2);
  });

  it.each([
    ['text', '{"id":"1234567890123456789"}', { id: '1234567890123456789' }],
    ['2^53', '9007199254740992', 9_007_199_254_740_992],
    ['digits behind the point', '0.12345678901234567890', 0.123_456_789_012_345_68],
  ])('%s comes through', async (_what, result, expected) => {
    expect((await call(answer(result))).result).toEqual(expected);
  });
});
