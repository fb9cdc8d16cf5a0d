import { digitsOf, numberIn, readExactly, readForForm, rounded, writeFromForm } from './exact-json.js';

it('writes numbers as they came, however large or long', () => {
  const text = '{"id":90071992547409931234,"small":1,"exact":0.10,"list":[1e400]}';
  expect(JSON.stringify(readExactly(text))).toBe(text);
});

it('reads the rest as ever', () => {
  expect(readExactly('{"a":[1,"x",null]}')).toEqual({ a: [1, 'x', null] });
  expect(() => readExactly('{')).toThrow(SyntaxError);
});

it('gives a form plain values, and takes each number back with its own digits', () => {
  const text = '{"id":9007199254740993,"exact":0.10,"list":[1e400,7],"text":"\\\\u00001"}';
  const value = readForForm(text);
  expect(JSON.stringify(JSON.parse(JSON.stringify(value), (_, each: unknown) => rounded(each)))).toBe(
    '{"id":9007199254740992,"exact":0.1,"list":[null,7],"text":"\\\\u00001"}',
  );
  expect(writeFromForm(value).replaceAll(/\s/g, '')).toBe(text);
});

it.each([
  ['7', 7, '7'],
  ['007', 7, '7'],
  ['-1.', -1, '-1'],
  ['1.0', expect.any(String), '1.0'],
  ['9007199254740993', expect.any(String), '9007199254740993'],
  ['009007199254740993', '009007199254740993', '009007199254740993'],
  ['-', '-', '-'],
])('takes the typed %s for a number as it is written', (typed, value, written) => {
  expect(numberIn(typed)).toEqual(value);
  expect(digitsOf(numberIn(typed))).toBe(written);
});
