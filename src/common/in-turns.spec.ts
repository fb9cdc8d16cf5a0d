import { inTurns } from './in-turns.js';

describe('work in turns', () => {
  it('takes every item in its order, with its place', async () => {
    const seen: string[] = [];
    await inTurns(['a', 'b', 'c'], (item, place) => seen.push(`${place}${item}`));
    expect(seen).toEqual(['0a', '1b', '2c']);
  });

  it('lets others go first when it takes long', async () => {
    const seen: string[] = [];
    setImmediate(() => seen.push('another'));
    await inTurns([1, 2], (item) => {
      const end = performance.now() + 10;
      while (performance.now() < end);
      seen.push(`item ${item}`);
    });
    expect(seen).toEqual(['item 1', 'another', 'item 2']);
  });
});
