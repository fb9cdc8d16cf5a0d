import { EventRing } from './event-ring.js';

interface Entry {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
}

const entry = (message: string): Entry => ({
  timestamp: '2026-01-23T10:30:00.000Z',
  level: 'info',
  message,
});
const ring = (maxEntries = 5, maxBytes = 1_000_000, epoch = 'e1') =>
  new EventRing<Entry>({ maxEntries, maxBytes }, epoch);
const fill = (into: EventRing<Entry>, from: number, to: number): void => {
  for (let n = from; n <= to; n++) into.append(entry(String(n)));
};
const messages = (of: { entries: { message?: string }[] }) =>
  of.entries.map(({ message }) => message).join(' ');

describe('EventRing', () => {
  it('keeps the latest entries, by number', () => {
    const log = ring();
    expect(log.slice(10)).toEqual({ entries: [], last: undefined, missed: 0 });
    fill(log, 1, 7);
    expect(messages(log.slice(10))).toBe('3 4 5 6 7');
    expect(log.slice(2)).toMatchObject({ last: 'e1-7', missed: 0 });
    expect(messages(log.slice(2))).toBe('6 7');
  });

  it('keeps no more bytes than it may, but always the latest entry', () => {
    const log = ring(1_000, 2_000);
    fill(log, 1, 200);
    const { entries } = log.slice(1_000);
    expect(Buffer.byteLength(JSON.stringify(entries))).toBeLessThan(2_100);
    expect(entries.length).toBeGreaterThan(10);
    log.append(entry('x'.repeat(5_000)));
    expect(log.slice(1_000).entries).toHaveLength(1);
  });

  it('goes on after an id without losing or repeating one, and says what was missed', () => {
    const log = ring();
    fill(log, 1, 4);
    expect(messages(log.slice(2, 'e1-1'))).toBe('2 3');
    expect(log.slice(2, 'e1-4')).toEqual({ entries: [], last: 'e1-4', missed: 0 });
    fill(log, 5, 9);
    expect(log.slice(9, 'e1-2')).toMatchObject({ missed: 2, last: 'e1-9' });
    expect(messages(log.slice(9, 'e1-2'))).toBe('5 6 7 8 9');
  });

  it('goes on at numbers of another log, of which some are left out', () => {
    const log = ring();
    for (const number of [40, 41, 43, 47, 48, 49]) log.append(entry(String(number)), number);
    expect(log.slice(9)).toMatchObject({ last: 'e1-49', missed: 0 });
    expect(messages(log.slice(9))).toBe('41 43 47 48 49');
    expect(messages(log.slice(2))).toBe('48 49');
    expect(messages(log.slice(2, 'e1-41'))).toBe('43 47');
    expect(messages(log.slice(9, 'e1-45'))).toBe('47 48 49');
    expect(log.slice(9, 'e1-38')).toMatchObject({ missed: 2 });
    expect(log.knows('e1-50')).toBe(false);
    const places = [];
    for (let found = log.from(40); found; found = log.from(found.next)) places.push(found.next);
    expect(places).toEqual([41, 43, 47, 48, 49]);
    expect(log.from(log.end)).toBeUndefined();
  });

  it('gives all it has for an id of an earlier log, or of none', () => {
    const log = ring();
    fill(log, 1, 3);
    for (const id of ['e0-2', 'e1-99', 'nonsense']) {
      expect(messages(log.slice(9, id))).toBe('1 2 3');
      expect(log.knows(id)).toBe(false);
    }
    expect(log.knows('e1-2')).toBe(true);
  });
});
