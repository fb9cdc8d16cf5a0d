import { replacing } from './replacing.js';

class Counter {
  private count = 0;
  readonly name = 'counter';

  get value(): number {
    return this.count;
  }

  add(): number {
    return (this.count += 1);
  }

  twice(): number {
    this.add();
    return this.add();
  }
}

describe('replacing', () => {
  it('answers with what was given, and leaves the rest to the object', () => {
    const counter = new Counter();
    const other = replacing(counter, { twice: () => 100 * counter.twice() });
    expect(other.twice()).toBe(200);
    expect(other.add()).toBe(3);
    expect([other.value, other.name]).toEqual([3, 'counter']);
    expect(counter.value).toBe(3);
  });

  it('does not change how the object calls itself', () => {
    const counter = new Counter();
    expect(replacing(counter, { add: () => 7 }).twice()).toBe(2);
  });
});
