import { hashOfKey, idIn, newKey, presentedKey } from './known-keys.js';

describe('presentedKey', () => {
  it('reads a bearer token, whatever the case of its scheme', () => {
    expect(presentedKey({ authorization: 'Bearer abc' })).toBe('abc');
    expect(presentedKey({ authorization: 'bearer  abc ' })).toBe('abc');
  });

  it('reads x-api-key, also beside another kind of authorization', () => {
    expect(presentedKey({ 'x-api-key': 'abc' })).toBe('abc');
    expect(presentedKey({ authorization: 'Basic eDp5', 'x-api-key': 'abc' })).toBe('abc');
  });

  it('reads what was meant as a key, so that its caller is refused and not taken for one without a key', () => {
    expect(presentedKey({ authorization: 'Bearer a b ' })).toBe('a b');
  });

  it('finds none in what is not one key', () => {
    expect(presentedKey({})).toBeUndefined();
    expect(presentedKey({ authorization: 'Bearer' })).toBeUndefined();
    expect(presentedKey({ 'x-api-key': ['a', 'b'] })).toBeUndefined();
  });
});

describe('newKey', () => {
  it('has 32 random bytes, and an id that sorts by time', () => {
    const [first, second] = [newKey(1_000), newKey(2_000)];
    expect(first.key).toMatch(/^tk_[0-9a-f]{20}_[\w-]{43}$/);
    expect(first.id < second.id).toBe(true);
    expect(idIn(first.key)).toBe(first.id);
    expect(new Set(Array.from({ length: 1_000 }, () => newKey(1_000).id)).size).toBe(1_000);
  });

  it('is known by a hash of 32 bytes', () => {
    const { key } = newKey();
    expect(hashOfKey(key)).toHaveLength(32);
    expect(hashOfKey(key).equals(hashOfKey(`${key}x`))).toBe(false);
  });

  it.each(['', 'tk_', 'tk__x', 'tk_0123_x', 'tk_0123456789ABCDEF0123_x', ' tk_0123456789abcdef0123_x'])(
    '%j has no id',
    (key) => expect(idIn(key)).toBeUndefined(),
  );
});
