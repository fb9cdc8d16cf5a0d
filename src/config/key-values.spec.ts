import fc from 'fast-check';
import { keyValuesIn } from './key-values.js';

const key = fc.stringMatching(/^[\w.-]{1,20}$/);

describe('keyValuesIn', () => {
  it('reads what was written', () => {
    fc.assert(
      fc.property(fc.dictionary(key, fc.string({ unit: 'grapheme' }), { minKeys: 1 }), (pairs) => {
        const text = Object.entries(pairs).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
        expect(keyValuesIn(text.join(', '))).toEqual({ ...pairs });
      }),
    );
  });

  it.each(['', 'a', 'word', '=b', 'a=b,', 'a b=c', 'a=%zz'])('does not accept %j', (text) => {
    expect(keyValuesIn(text)).toBeUndefined();
  });

  it('lets a value hold an equals sign', () => {
    expect(keyValuesIn('authorization=Basic YQ==')).toEqual({ authorization: 'Basic YQ==' });
  });
});
