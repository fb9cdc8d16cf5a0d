import { yamlText, yamlToJson } from './yaml-documents.js';

const read = (text: string): unknown => JSON.parse(yamlToJson(text));

describe('yamlToJson', () => {
  it('reads one document as it is, and several as one list', () => {
    expect(read('a: 1')).toEqual({ a: 1 });
    expect(read('- a: 1\n- b: 2')).toEqual([{ a: 1 }, { b: 2 }]);
    expect(read('a: 1\n---\n- b: 2\n- c: 3\n---\n')).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
    expect(read('- a: 1\n- null\n---\n---\nb: 2')).toEqual([{ a: 1 }, null, { b: 2 }]);
    expect(read('# nothing\n')).toEqual([]);
  });

  it('reads YAML as it is meant today: no is a word, and times are text', () => {
    expect(read('answer: no\nat: 2026-01-23\nversion: 1.10')).toEqual({
      answer: 'no',
      at: '2026-01-23',
      version: 1.1,
    });
  });

  it('merges what << names', () => {
    expect(read('a: &a { x: 1, y: 2 }\nb: { <<: *a, y: 3 }')).toEqual({
      a: { x: 1, y: 2 },
      b: { x: 1, y: 3 },
    });
  });

  it.each([
    [
      'a number beyond 2^53',
      'a: 1\nb: 1234567890123456789',
      'line 2: 1234567890123456789 is a number beyond 2^53',
    ],
    ['the same in hexadecimal', 'a:\n  - 0xffffffffffffffff', 'line 2: 0xffffffffffffffff is'],
    ['infinity', 'a: .inf', 'line 1: JSON has no .inf'],
    ['no number', 'a: 1\n---\nb: .nan', 'line 3: JSON has no .nan'],
    ['a number that overflows', 'a: 1e999', 'line 1: JSON has no 1e999'],
    ['a list as a key', 'a: 1\n? [x]\n: 2', 'line 2: a key must be text'],
    ['a tag of another format', 'a: 1\nb: !Ref x', 'at line 2'],
    ['bytes', 'a: !!binary aGk=', 'line 1: JSON has no bytes'],
  ])('refuses %s with its line', (_what, text, message) => {
    expect(() => yamlToJson(text)).toThrow(message);
  });

  it('takes UTF-8 alone, and names the line of anything else', () => {
    expect(yamlText(Buffer.from('a: ä\nb: 磁盘'))).toBe('a: ä\nb: 磁盘');
    expect(() => yamlText(Buffer.from('a: x\nb: caf\xe9\n', 'latin1'))).toThrow('line 2: it is not UTF-8');
    expect(() => yamlText(Buffer.from([0x61, 0x0a, 0xc3]))).toThrow('line 2: it is not UTF-8');
  });

  it('keeps the order of keys', () => {
    expect(yamlToJson('z: 1\na: 2')).toBe('{"z":1,"a":2}');
  });

  it.each([
    ['a list without end', 'a: [1'],
    ['an unknown alias', 'a: *b'],
    ['a key twice', 'a: 1\na: 2'],
    ['a circle', 'a: &a [*a]'],
    ['a text that grows', `a: &a ${'x'.repeat(300_000)}\nb: [${Array(90).fill('*a').join()}]`],
  ])('refuses %s', (_what, text) => {
    expect(() => yamlToJson(text)).toThrow();
  });
});
