import fc from 'fast-check';
import { storableJson, sanitisedText } from './pg-text.js';

describe('text for PostgreSQL', () => {
  it('shows where a NUL was', () => {
    expect(sanitisedText('a\0b\0')).toBe('a\uFFFDb\uFFFD');
    expect(sanitisedText('plain')).toBe('plain');
  });

  it('replaces NUL and lone surrogates in JSON, keys included', () => {
    expect(JSON.parse(storableJson({ 'k\0': 'v\0', half: 'x\ud800y\udfff', pair: '😀' }))).toEqual({
      'k\uFFFD': 'v\uFFFD',
      half: 'x\uFFFDy\uFFFD',
      pair: '😀',
    });
  });

  it('leaves an escaped backslash before u0000 alone', () => {
    const value = { path: 'C:\\u0000', more: '\\\\ud800' };
    expect(JSON.parse(storableJson(value))).toEqual(value);
  });

  it('gives null for what JSON does not know', () => {
    expect(storableJson(undefined)).toBe('null');
  });

  it('changes nothing but NUL and lone surrogates, whatever the value', () => {
    const clean = (text: string): string => Buffer.from(sanitisedText(text)).toString();
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 20 })),
        fc.array(fc.integer({ max: 0xffff, min: 0 })),
        (texts, units) => {
          const value = [...texts, String.fromCharCode(...units)];
          expect(JSON.parse(storableJson(value))).toEqual(value.map(clean));
        },
      ),
    );
  });
});
