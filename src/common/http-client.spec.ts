import { retryAfterMs } from './http-client.js';

const now = Date.UTC(2026, 0, 23, 10, 30, 0);

it.each<[string | string[] | undefined, number]>([
  [undefined, 0],
  ['', 0],
  ['0', 0],
  ['2', 2_000],
  [' 120 ', 120_000],
  [['3', '4'], 3_000],
  ['Fri, 23 Jan 2026 10:30:05 GMT', 5_000],
  ['Friday, 23-Jan-26 10:30:07 GMT', 7_000],
  ['Fri, 23 Jan 2026 10:29:00 GMT', 0],
  ['-1', 0],
  ['1.5', 0],
  ['soon', 0],
  ['9999999999', 0],
])('understands a Retry-After of %j', (header, expected) => {
  expect(retryAfterMs(header, now)).toBe(expected);
});
