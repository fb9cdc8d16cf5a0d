import { arrayLiteral, arrayParameter } from './pg-array.js';

describe('arrays for PostgreSQL', () => {
  it('writes literals as PostgreSQL reads them', () => {
    expect(arrayLiteral([])).toBe('{}');
    expect(arrayLiteral(['a', null, 'b"c\\d', '{NULL}', 1, true])).toBe(
      '{"a",null,"b\\"c\\\\d","{NULL}",1,true}',
    );
    expect(arrayLiteral(['line\nbreak', null, 'b"c\\n', false])).toBe(
      '{"line\nbreak",null,"b\\"c\\\\n",false}',
    );
  });

  it('takes the binary form where that can be written at once', () => {
    const binary = (...of: Parameters<typeof arrayParameter>): boolean =>
      Buffer.isBuffer(arrayParameter(...of));
    expect(binary('text', ['plain', null, '', 'x'.repeat(2_000)])).toBe(true);
    expect(binary('text', ['plain', 'ä'])).toBe(false);
    expect(binary('text', ['x'.repeat(200), 'é'])).toBe(false);
    expect(binary('text', ['x'.repeat(200), '€'])).toBe(false);
    expect(binary('uuid', ['018f0000-0000-7000-8000-000000000000'])).toBe(true);
    expect(binary('uuid', ['no uuid'])).toBe(false);
    expect(binary('int4', [1, -1])).toBe(true);
    expect(binary('int4', [1, null])).toBe(false);
    expect(binary('int4', [2_147_483_648])).toBe(false);
    // Nothing but nulls: as short as can be.
    expect(arrayParameter('text', [null, null])).toBe('{}');
  });
});
