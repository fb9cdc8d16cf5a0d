import { piecesOf } from './ansi.js';

it('tells colours and weight, and leaves the rest of what terminals are told out', () => {
  expect(piecesOf('plain \u001b[1;31mred\u001b[0m \u001b[92mok')).toEqual([
    { text: 'plain ', isBold: false },
    { text: 'red', colour: 'red', isBold: true },
    { text: ' ', isBold: false },
    { text: 'ok', colour: 'bright-green', isBold: false },
  ]);
  expect(
    piecesOf('\u001b]0;title\u0007a\u001b[2Jb\u0000\r')
      .map(({ text }) => text)
      .join(''),
  ).toBe('ab');
});

it('keeps what looks like markup as text', () => {
  expect(piecesOf('<img src=x onerror=alert(1)> &amp;')).toEqual([
    { text: '<img src=x onerror=alert(1)> &amp;', isBold: false },
  ]);
});
