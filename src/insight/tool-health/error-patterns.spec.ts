import { messagePattern } from './grading.js';

describe('messagePattern', () => {
  it.each([
    ['numbers', 'Search timed out after 5000ms, try 2 of 3', 'Search timed out after <n>ms, try <n> of <n>'],
    ['decimals and times', 'at 10:30:05 load was 1.25', 'at <n> load was <n>'],
    ['UUIDs', 'no row 019A9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f here', 'no row <id> here'],
    ['hexadecimal ids', 'pod 9f86d081884c7d65 at 0xDEADBEEF', 'pod <id> at <id>'],
    ['words of hexadecimal letters', 'decade facade deadbeef', 'decade facade deadbeef'],
    ['absolute paths', 'cannot open /var/log/app.log (ENOENT)', 'cannot open <path> (ENOENT)'],
    ['paths of Windows', 'cannot open C:\\logs\\app.log', 'cannot open <path>'],
    ['relative paths', 'cannot open ./tools/x.py or ../y', 'cannot open <path> or <path>'],
    ['alternatives, which are no paths', 'read and/or write', 'read and/or write'],
    ['addresses', 'GET https://api.example.com/v1/a?b=7 failed', 'GET <url> failed'],
    ['quotations', `key 'user-17' in "a b" and \`c\``, 'key <text> in <text> and <text>'],
    ['apostrophes, which quote nothing', "can't connect, won't retry", "can't connect, won't retry"],
    ['white space', '  a\n\n  b\t c ', 'a b c'],
    ['nothing', '', ''],
  ])('folds %s', (_what, message, pattern) => {
    expect(messagePattern(message)).toBe(pattern);
  });

  it.each([
    '/'.repeat(4_096),
    '"'.repeat(4_095),
    'a'.repeat(4_096),
    '1'.repeat(4_096),
    '/a'.repeat(2_048),
    "'a ".repeat(1_300),
  ])('takes no long time on %#', (message) => {
    const before = process.cpuUsage();
    messagePattern(message);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});
