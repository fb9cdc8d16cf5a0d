import { readExactly } from './exact-json.js';

it('writes numbers as they came, however large or long', () => {
  const text = '{"id":90071992547409931234,"small":1,"exact":0.10,"list":[1e400]}';
  expect(JSON.stringify(readExactly(text))).toBe(text);
});

it('reads the rest as ever', () => {
  expect(readExactly('{"a":[1,"x",null]}')).toEqual({ a: [1, 'x', null] });
  expect(() => readExactly('{')).toThrow(SyntaxError);
});
