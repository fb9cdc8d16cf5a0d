import { yamlToJson } from './yaml-documents.js';

const read = (text: string): unknown => JSON.parse(yamlToJson(text));

describe('yamlToJson', () => {
  it('reads one document as it is, and several as one list', () => {
    expect(read('a: 1')).toEqual({ a: 1 });
    expect(read('- a: 1\n- b: 2')).toEqual([{ a: 1 }, { b: 2 }]);
    expect(read('a: 1\n---\n- b: 2\n- c: 3\n---\n')).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
    expect(read('# nothing\n')).toEqual([]);
  });

  it('reads YAML as it is meant today: no is a word, and times are text', () => {
    expect(read('answer: no\nat: 2026-01-23\nversion: 1.10')).toEqual({
      answer: 'no',
      at: '2026-01-23',
      version: 1.1,
    });
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
