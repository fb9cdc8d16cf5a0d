import fc from 'fast-check';
import { Redactor } from './redactor.js';

describe('Redactor', () => {
  it('names each secret in its place', () => {
    const redactor = new Redactor({ TOKEN: 's3cr.t+(x)', PASSWORD: 'hunter22', FLAG: 'yes' });
    expect(redactor.clean('s3cr.t+(x)/hunter22: yes, s3crat+(x)')).toBe(
      '[secret TOKEN]/[secret PASSWORD]: yes, s3crat+(x)',
    );
  });

  it('leaves values of fewer than four characters, and everything where there is no secret', () => {
    expect(new Redactor({ A: 'abc' }).clean('abc')).toBe('abc');
    expect(new Redactor({}).clean('text', { start: true, end: true })).toBe('text');
  });

  it.each([
    ['GET https://h/?pin=77&x=1', 'GET https://h/?pin=[secret PIN]&x=1'],
    ['https://h/a?x=1&key=77', 'https://h/a?x=1&key=[secret PIN]'],
    ['Authorization: Bearer 77', 'Authorization: Bearer [secret PIN]'],
    ['x-api-key: 77', 'x-api-key: [secret PIN]'],
    ['{"X-Token":"77"}', '{"X-Token":"[secret PIN]"}'],
    ['Cookie: 77; b', 'Cookie: [secret PIN]; b'],
    ['77 of 77 lines, line: 77', '77 of 77 lines, line: 77'],
    ['https://h/?pin=778', 'https://h/?pin=778'],
  ])('hides a short value in headers and queries alone: %s', (text, expected) =>
    expect(new Redactor({ PIN: '77' }).clean(text)).toBe(expected),
  );

  it('takes the longer of two values that begin alike', () => {
    expect(new Redactor({ A: 'secret', B: 'secret-long' }).clean('secret-long secret')).toBe(
      '[secret B] [secret A]',
    );
  });

  it('finds a value as it stands in JSON and in URLs, and the lines of one that has several', () => {
    const redactor = new Redactor({ T: 'a"b\\c/d e', PEM: '-----BEGIN-----\nMIIEvQIBADAN\n}\n' });
    expect(redactor.clean(JSON.stringify({ x: 'a"b\\c/d e' }))).toBe('{"x":"[secret T]"}');
    expect(redactor.clean('https://h/?t=a%22b%5Cc%2Fd%20e')).toBe('https://h/?t=[secret T]');
    expect(redactor.clean('key: MIIEvQIBADAN }')).toBe('key: [secret PEM] }');
  });

  it('finds a value of any length, of which a regular expression can hold no more than a part', () => {
    const value = Array.from({ length: 20_000 }, (_, n) => n.toString(36)).join('.');
    const redactor = new Redactor({ KEYS: value });
    expect(redactor.clean(`<${value}>`)).toMatch(/^<(\[secret KEYS\])+>$/);
    expect(redactor.clean(value.slice(0, 5_000), { end: true })).toMatch(/^(\[secret KEYS\])+$/);
  });

  it('finds the part of a value that is left where a text was cut off', () => {
    const redactor = new Redactor({ TOKEN: 'abcdefgh' });
    expect(redactor.clean('efgh: failed', { start: true })).toBe('[secret TOKEN]: failed');
    expect(redactor.clean('efgh: failed')).toBe('efgh: failed');
    expect(redactor.clean('token abcde', { end: true })).toBe('token [secret TOKEN]');
    expect(redactor.clean('abcdefgh', { start: true, end: true })).toBe('[secret TOKEN]');
  });

  it('goes through JSON values', () => {
    const redactor = new Redactor({ TOKEN: 's3cret' });
    expect(redactor.cleanJson({ a: ['s3cret', 1, null], b: { c: 'x s3cret' } })).toEqual({
      a: ['[secret TOKEN]', 1, null],
      b: { c: 'x [secret TOKEN]' },
    });
  });

  it("goes through the names of members, unless they are the protocol's or the callers'", () => {
    const redactor = new Redactor({ TOKEN: 's3cret' });
    const said = { s3cret: [{ 'a s3cret': 's3cret' }], ['__proto__']: 1 };
    expect(JSON.stringify(redactor.cleanJson(said))).toBe(
      '{"[secret TOKEN]":[{"a [secret TOKEN]":"[secret TOKEN]"}],"__proto__":1}',
    );
    expect(redactor.cleanJson({ s3cret: ['s3cret'] }, { names: false })).toEqual({
      s3cret: ['[secret TOKEN]'],
    });
  });

  it('leaves no value in any text, whatever the value', () => {
    const value = fc.string({ unit: 'grapheme', minLength: 4 });
    fc.assert(
      fc.property(value, fc.string(), fc.string(), (secret, before, after) => {
        fc.pre(!'[secret N]'.includes(secret) && secret.trim().length >= 4);
        expect(new Redactor({ N: secret }).clean(`${before}${secret}${after}`)).toContain('[secret N]');
      }),
    );
  });
});
