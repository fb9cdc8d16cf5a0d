import { excerptOf } from './small-answers.js';

describe('an excerpt', () => {
  const text = `begin ${'a'.repeat(20_000)} Error: disk full ${'z'.repeat(20_000)} end`;
  const place = text.indexOf('Error:');

  it.each([1, 0.1])(
    'of a share of %d holds its beginning, its end, and the place that is asked for',
    (share) => {
      const excerpt = excerptOf(text, share, place);
      for (const part of ['begin', 'Error: disk full', ' end']) expect(excerpt).toContain(part);
      expect(excerpt.length).toBeLessThan(2_300);
      expect(excerpt.match(/characters cut/g)).toHaveLength(2);
    },
  );

  it.each([-1, 3, text.length - 5])('says the same where the place %d is shown anyway, or is none', (at) =>
    expect(excerptOf(text, 1, at)).toBe(excerptOf(text)),
  );

  it('leaves out nothing twice, wherever the place is', () => {
    for (let at = 0; at < 3_000; at += 7) {
      const letters = Array.from({ length: 3_000 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('');
      const shown = excerptOf(letters, 1, at).replaceAll(/ \[…(\d+) characters cut…\] ?/g, '');
      expect(new Set(shown).size).toBe(shown.length);
      expect(shown).toContain(letters[at]);
    }
  });
});
