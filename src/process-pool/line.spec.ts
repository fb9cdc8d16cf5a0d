import fc from 'fast-check';
import { type InLine, Line } from './line.js';

class Item implements InLine<Item> {
  line: object | undefined;
  before: Item | undefined;
  after: Item | undefined;
  constructor(readonly n: number) {}
}

/** The same with an array. */
type Command = { readonly add: true } | { readonly remove: number } | { readonly clear: true };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ add: true } as const) },
  { weight: 4, arbitrary: fc.record({ remove: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ clear: true } as const) },
);

describe('Line', () => {
  it('is a queue that anybody may leave', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const line = new Line<Item>();
        let model: Item[] = [];
        const gone: Item[] = [];
        for (const [n, each] of commands.entries()) {
          if ('add' in each) {
            const item = new Item(n);
            line.add(item);
            model.push(item);
          } else if ('clear' in each) {
            expect(line.clear()).toEqual(model);
            model = [];
          } else {
            const item = [...model, ...gone][each.remove % (model.length + gone.length + 1)];
            if (item) line.delete(item);
            if (item) gone.push(item);
            model = model.filter((other) => other !== item);
          }
          expect(line.size).toBe(model.length);
          expect(line.first).toBe(model[0]);
        }
        expect(line.clear()).toEqual(model);
        for (const item of [...model, ...gone]) expect({ ...item }).toEqual({ n: item.n });
      }),
    );
  });

  it('leaves those alone that stand in another line', () => {
    const [line, other] = [new Line<Item>(), new Line<Item>()];
    const item = new Item(1);
    line.add(item);
    other.delete(item);
    expect([line.size, other.size, line.first]).toEqual([1, 0, item]);
  });

  it('takes no longer for many than for few', () => {
    const perItem = (count: number) => {
      const line = new Line<Item>();
      const items = Array.from({ length: count }, (_, n) => new Item(n));
      const begun = performance.now();
      for (const item of items) line.add(item);
      for (let item = line.first; item; item = line.first) line.delete(item);
      return (performance.now() - begun) / count;
    };
    perItem(20_000);
    const few = Math.min(...Array.from({ length: 5 }, () => perItem(2_000)));
    // A queue that searches would need a hundred times as long for each.
    expect(Math.min(...Array.from({ length: 5 }, () => perItem(200_000)))).toBeLessThan(20 * few + 0.001);
  });
});
