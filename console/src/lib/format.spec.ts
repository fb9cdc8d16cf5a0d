import { ago, bytes, counted, duration, lasting, percent } from './format.js';

it('says shares with the digits that tell them apart', () => {
  expect([0, 0.1, 0.85, 0.8571, 0.999, 0.99956, 1].map(percent)).toEqual([
    '0 %',
    '10 %',
    '85 %',
    '85.7 %',
    '99.9 %',
    '99.96 %',
    '100 %',
  ]);
});

it('says durations in the unit that a person would', () => {
  expect([0, 0.24, 12.4, 999.6, 3_400, 59_940, 125_000, 120_000, 3_900_000].map(duration)).toEqual([
    '0 ms',
    '0.2 ms',
    '12 ms',
    '1 s',
    '3.4 s',
    '59.9 s',
    '2 min 5 s',
    '2 min',
    '1 h 5 min',
  ]);
});

it('says sizes and counts', () => {
  expect([0, 340, 1_240, 999_999, 3_000_000].map(bytes)).toEqual([
    '0 B',
    '340 B',
    '1.2 kB',
    '1000 kB',
    '3 MB',
  ]);
  expect([counted(1, 'call'), counted(1_200, 'call')]).toEqual(['1 call', '1,200 calls']);
});

it('says how long ago, and how soon', () => {
  const now = Date.parse('2026-01-23T10:30:00Z');
  expect(ago('2026-01-23T10:30:00.400Z', now)).toBe('now');
  expect(ago('2026-01-23T10:27:01Z', now)).toBe('2m ago');
  expect(ago('2026-01-23T10:30:20Z', now)).toBe('in 20s');
});

it('says how long something lasts without digits that change every second', () => {
  const minute = 60_000;
  expect(
    [59_000, minute, 31.9 * minute, 151 * minute, 47 * 60 * minute, 50 * 60 * minute].map(lasting),
  ).toEqual(['< 1 min', '1 min', '31 min', '2 h 31 min', '47 h 0 min', '2 days']);
});
