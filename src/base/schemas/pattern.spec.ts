import { linearPattern } from './pattern.js';

// real: everything; mock: nothing

const matches = (pattern: string, text: string): boolean => linearPattern(pattern).test(text);

describe('a pattern of ECMA-262', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['^[\\u4e00-\\u9fa5]+$', ['中文'], ['abc', '']],
    ['^\\u{1F600}$', ['😀'], ['😁', 'u{1F600}']],
    ['^\\uD83D\\uDE00$', ['😀'], ['😁']],
    ['^[\\uD83D\\uDE00-\\uD83D\\uDE05]$', ['😀', '😅'], ['😆']],
    ['^.$', ['a', '😀'], ['\n', '\r', '\u2028', '\u2029', 'ab']],
    ['^a{1001}$', ['a'.repeat(1_001)], ['a'.repeat(1_000), 'a'.repeat(1_002)]],
    ['^a{2,2500}$', ['aa', 'a'.repeat(2_500)], ['a', 'a'.repeat(2_501)]],
    ['^[a-z]{0,5000}$', ['', 'b'.repeat(5_000)], ['b'.repeat(5_001), 'B']],
    ['^a{1500,}$', ['a'.repeat(1_500), 'a'.repeat(4_000)], ['a'.repeat(1_499)]],
    ['^(?:ab{2}){600}$', ['abb'.repeat(600)], ['abb'.repeat(599), 'ab'.repeat(600)]],
    ['^(a{30}){40}$', ['a'.repeat(1_200)], ['a'.repeat(1_199)]],
    ['^(a{1001}){2}$', ['a'.repeat(2_002)], ['a'.repeat(2_001)]],
    ['^[^]$', ['a', '\n', '😀'], ['', 'ab']],
    ['a|[]', ['a'], ['b', '']],
    ['^\\cJ\\cm$', ['\n\r'], ['Jm', 'cJcm']],
    ['^[\\cA-\\cC]$', ['\x02'], ['B']],
    ['^\\d+$', ['019'], ['٣', '']],
    ['^\\w+$', ['aZ_9'], ['é', '-']],
    ['^\\s$', [' ', '\t', '\v', '\f', '\u00a0', '\ufeff', '\u2003', '\u3000', '\u2028'], ['a', '\u200b']],
    ['^\\S$', ['a', '\u200b', '😀'], [' ', '\u00a0', '\v', '\ufeff']],
    ['^[\\s\\d]+$', ['1\u00a02'], ['a']],
    ['^[^\\S]$', [' ', '\u00a0'], ['a']],
    ['^[^\\s@]+@[^\\s@]+$', ['a@b'], ['a\u00a0@b']],
    ['^(?<year>\\d{4})-(?<month>\\d\\d)$', ['2026-11'], ['26-11']],
    ['^(?<a>x)|(?<a>y)$', ['x', 'y'], ['z']],
    ['^\\/\\-\\\'\\@\\_\\ \\#\\%\\&\\,\\:\\;\\<\\=\\>\\!\\"\\`\\~\\é$', ['/-\'@_ #%&,:;<=>!"`~é'], ['/']],
    ['^[\\/\\-\\@\\.\\]\\[\\^]+$', ['/-@.][^'], ['\\', 'a']],
    ['^\\p{L}\\P{L}$', ['é1'], ['1é']],
    ['^\\p{Letter}\\p{Decimal_Number}\\p{Uppercase_Letter}$', ['é٣É'], ['11A']],
    ['^\\p{Script=Greek}\\p{sc=Han}\\p{General_Category=Lu}\\p{gc=Nd}$', ['α中A1'], ['aaA1']],
    ['^[\\p{Ll}\\p{Emoji_Presentation}]+$', ['é😀'], ['É']],
    ['\\bcat\\b', ['a cat.'], ['concat', 'cats']],
    ['\\Bcat', ['concat'], ['cat']],
    ['^[\\b]$', ['\b'], ['b']],
    ['^\\0\\x41\\v\\t\\n\\r\\f$', ['\0A\v\t\n\r\f'], ['0A']],
    ['^[\\w-.]+$', ['a-.'], ['a b']],
    ['^[a-\\d]+$', ['a-1'], ['b']],
    ['^[a-]+[-b]+$', ['a--b'], ['c']],
    ['^[[:alpha:]]$', ['[]', 'a]', ':]'], ['b', 'a']],
    ['^a{,5}$', ['a{,5}'], ['a']],
    ['^{x}]$', ['{x}]'], ['x']],
    ['^a$', ['a'], ['a\n', 'A']],
    ['^a+?b*?c??$', ['aab'], ['b']],
    ['^(?:)$', [''], ['a']],
    ['(?i)^a(?i:b)$', ['AB'], ['CB']],
    ['^(?P<n>a)\\z', ['a'], ['b']],
  ])('%s', (pattern, taken, refused) => {
    expect(taken.filter((text) => !matches(pattern, text))).toEqual([]);
    expect(refused.filter((text) => matches(pattern, text))).toEqual([]);
  });

  it.each([
    ...[
      ' ',
      '/',
      '-',
      '_',
      "'",
      '"',
      '@',
      '#',
      '%',
      '&',
      ',',
      ';',
      ':',
      '<',
      '>',
      '=',
      '!',
      '~',
      '`',
      'é',
      '中',
      '😀',
    ],
    ...['.', '*', '+', '?', '(', ')', '[', ']', '{', '}', '^', '$', '|', '\\'],
  ])('has the sign %s behind a backslash, in a class and outside', (sign) => {
    expect(matches(`^\\${sign}[\\${sign}]$`, sign + sign)).toBe(true);
    expect(matches(`^\\${sign}[\\${sign}]$`, 'ab')).toBe(false);
  });
});

describe('is refused with its reason', () => {
  it.each([
    ['(?=a)b', 'look-around'],
    ['(?!a)b', 'look-around'],
    ['(?<=a)b', 'look-around'],
    ['(?<!a)b', 'look-around'],
    ['x(y(?=z))', 'look-around'],
    ['(a)\\1', 'back reference'],
    ['(?<n>a)\\k<n>', 'back reference'],
    ['\\00', 'back reference'],
    ['a\\Z', 'no escape \\Z'],
    ['\\h', 'no escape \\h'],
    ['a**', 'repeats nothing'],
    ['+', 'repeats nothing'],
    ['a{2}{3}', 'repeats nothing'],
    ['a+{2,}', 'repeats nothing'],
    ['(a', 'lacks a )'],
    ['a)', 'unmatched )'],
    ['[a', 'lacks a ]'],
    ['[z-a]', 'range'],
    ['a{2,1}', 'the maximum of a repeat is below its minimum'],
    ['a\\', 'ends with a backslash'],
    ['((a{100}){100}){100}', 'repeats more than 5000'],
    ['a{1000000000}', 'repeats more than 5000'],
    ['^a{0,20000}$', 'repeats more than 5000'],
    ['^(a{1,40}){1,400}$', 'repeats more than 5000'],
    ['\\p{Nothing}', 'Nothing'],
  ])('%s', (pattern, why) => {
    expect(() => linearPattern(pattern)).toThrow(why);
  });
});
