import { figuresRange, lastDayOf, rangeName, sinceMoment } from './time-range.js';

const now = Date.parse('2026-01-23T10:30:00.000Z');

it('reads a time back from now, or a moment', () => {
  expect(sinceMoment('15m', now)).toBe('2026-01-23T10:15:00.000Z');
  expect(sinceMoment('2026-01-01T00:00:00.000Z', now)).toBe('2026-01-01T00:00:00.000Z');
  expect(sinceMoment(undefined, now)).toBeUndefined();
});

it.each([
  [{}, 'Any time'],
  [{ since: '24h' }, 'Last 24 hours'],
  [{ since: '2026-01-23T10:30:00.000Z', until: '2026-01-23T10:40:00.000Z' }, /^Fri 23 Jan.* – \d\d:\d0$/],
  [{ until: '2026-01-23T10:40:00.000Z' }, /^Until Fri/],
  [{ since: '2026-01-23T10:30:00.000Z' }, /^Since Fri/],
])('%j is named', (range, name) => {
  expect(rangeName(range)).toMatch(name);
});

it.each([
  [{}, { since: '1h' }],
  [{ since: '7d' }, { since: '7d' }],
  [{ until: '2026-01-23T10:40:00.000Z' }, { until: '2026-01-23T10:40:00.000Z' }],
])('figures of %j are those of %j', (search, range) => {
  expect(figuresRange(search)).toEqual({ since: undefined, until: undefined, ...range });
});

it.each([
  [{ since: '1h' }, { since: '1h' }],
  [{ since: '7d' }, { since: '24h', until: undefined }],
  [
    { since: '2026-01-20T00:00:00.000Z', until: '2026-01-23T10:30:00.000Z' },
    { since: '2026-01-22T10:30:00.000Z', until: '2026-01-23T10:30:00.000Z' },
  ],
])('the last 24 hours of %j are %j', (range, last) => {
  expect(lastDayOf(range)).toEqual(last);
});
