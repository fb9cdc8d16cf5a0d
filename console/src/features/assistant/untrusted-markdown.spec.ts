import { hostOf, isCheapMarkdown } from './untrusted-markdown.js';

it.each([
  ['https://example.com:8443/x', 'example.com:8443'],
  ['http://256.256.256.256/', undefined],
  ['https://host:99999/x', undefined],
  ['https://', undefined],
  ['javascript:alert(1)', undefined],
  ['data:text/html,x', undefined],
])('the link %s leads to the host %s', (href, host) => {
  expect(hostOf(href)).toBe(host);
});

it.each([
  [
    'words, a list and a table',
    `**Bold** [a](http://b.c)\n\n- one\n- two\n\n| a | b |\n|${'-'.repeat(80)}|--|\n| 1 | 2 |`,
    true,
  ],
  ['many paragraphs', 'Some *words* and [a link](/traces).\n\n'.repeat(1_000), true],
  ['a long text', 'x'.repeat(65_537), false],
  ['quotes in quotes', '>'.repeat(20_000), false],
  ['lists in lists', '- '.repeat(5_000), false],
  ['lists and quotes', '1. > '.repeat(5_000), false],
  ['emphasis without end', `${'*'.repeat(2_000)}a${'*'.repeat(2_000)}`, false],
  ['links in links', `${'['.repeat(600)}a${'](b)'.repeat(600)}`, false],
])('of %s', (_, text, expected) => {
  expect(isCheapMarkdown(text)).toBe(expected);
});
