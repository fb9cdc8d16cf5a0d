import { HashedKey, presentedKey } from './api-key.js';

describe('presentedKey', () => {
  it('reads a bearer token, whatever the case of its scheme', () => {
    expect(presentedKey({ authorization: 'Bearer abc' })).toBe('abc');
    expect(presentedKey({ authorization: 'bearer  abc ' })).toBe('abc');
  });

  it('reads x-api-key, also beside another kind of authorization', () => {
    expect(presentedKey({ 'x-api-key': 'abc' })).toBe('abc');
    expect(presentedKey({ authorization: 'Basic eDp5', 'x-api-key': 'abc' })).toBe('abc');
  });

  it('finds none in what is not one key', () => {
    expect(presentedKey({})).toBeUndefined();
    expect(presentedKey({ authorization: 'Bearer' })).toBeUndefined();
    expect(presentedKey({ authorization: 'Bearer a b' })).toBeUndefined();
    expect(presentedKey({ 'x-api-key': ['a', 'b'] })).toBeUndefined();
  });
});

describe('HashedKey', () => {
  const key = new HashedKey('0123456789abcdef');

  it('matches the key only', () => {
    expect(key.matches('0123456789abcdef')).toBe(true);
    expect(key.matches('0123456789abcdeF')).toBe(false);
    expect(key.matches('0123456789abcdef0')).toBe(false);
    expect(key.matches('')).toBe(false);
    expect(key.matches(undefined)).toBe(false);
  });
});
