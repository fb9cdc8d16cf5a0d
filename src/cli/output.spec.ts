import { escapeControls } from './output.js';

it.each([
  ['\x1b]0;title\x07', '\\x1b]0;title\\x07'],
  ['\x1b[2J\x1b[1;1H', '\\x1b[2J\\x1b[1;1H'],
  ['\x9b31m', '\\x9b31m'],
  ['a\rb\x7f', 'a\\x0db\\x7f'],
  ['two\n\tlines', 'two\n\tlines'],
  ['\x1b[31mred\x1b[39m', '\x1b[31mred\x1b[39m'],
])('%j is shown without effect on the terminal', (text, shown) => expect(escapeControls(text)).toBe(shown));
