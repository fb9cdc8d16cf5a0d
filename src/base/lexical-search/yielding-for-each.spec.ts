import { yieldingForEach } from './yielding-for-each.js';

describe('yieldingForEach', () => {
  it('takes every item in its order, with its place', async () => {
    const seen: string[] = [];
    await yieldingForEach(['a', 'b', 'c'], (item, place) => seen.push(`${place}${item}`));
    expect(seen).toEqual(['0a', '1b', '2c']);
  });

  it('lets others go first when it takes long', async () => {
    const seen: string[] = [];
    setImmediate(() => seen.push('another'));
    await yieldingForEach([1, 2], (item) => {
      const end = performance.now() + 10;
      while (performance.now() < end);
      seen.push(`item ${item}`);
    });
    expect(seen).toEqual(['item 1', 'another', 'item 2']);
  });
});
