import fc from 'fast-check';
import { commandOf, wordsOf } from './command-words.js';

it('splits at spaces, not within quotes', () => {
  expect(wordsOf(`python3  -u "my tool.py" --a='x y' it's`)).toEqual([
    'python3',
    '-u',
    'my tool.py',
    '--a=x y',
    'it',
    's',
  ]);
  expect(wordsOf('')).toEqual([]);
});

it('reads back what it wrote', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 })), (words) => {
      expect(wordsOf(commandOf(words))).toEqual(words);
    }),
  );
});
