import fc from 'fast-check';
import { middleOf, passagesOf } from './vector-store.js';

describe('passagesOf', () => {
  const plain = { name: 'Name', description: 'What it does.', signals: [], aliases: [] };

  it('takes signals and aliases one by one', () => {
    const playbook = { ...plain, signals: ['OOMKilled'], aliases: ['out of memory', ' '] };
    expect(passagesOf(playbook)).toEqual(['OOMKilled', 'out of memory']);
  });

  it('takes the name, twice, and the description of a playbook that has neither', () => {
    expect(passagesOf(plain)).toEqual(['Name', 'Name', 'What it does.']);
  });

  it('cuts a long text, and no character in two', () => {
    const [, , passage = ''] = passagesOf({ ...plain, description: '𝒳'.repeat(2_000) });
    expect([...passage]).toHaveLength(1_000);
    expect(passage.isWellFormed()).toBe(true);
  });
});

describe('middleOf', () => {
  it('has length 1 and leans to where most vectors are', () => {
    const middle = middleOf([Float32Array.of(1, 0), Float32Array.of(1, 0), Float32Array.of(0, 1)]);
    expect([...middle]).toEqual([expect.closeTo(0.894, 3), expect.closeTo(0.447, 3)]);
  });

  it('is the vector itself where there is one', () => {
    const part = fc.float({ min: Math.fround(0.1), max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const length = Math.hypot(...parts);
        const vector = Float32Array.from(parts, (each) => each / length);
        middleOf([vector]).forEach((each, at) => expect(each).toBeCloseTo(vector[at] ?? 0, 5));
      }),
    );
  });

  it('stays nothing when vectors cancel each other', () => {
    expect([...middleOf([Float32Array.of(1, 0), Float32Array.of(-1, 0)])]).toEqual([0, 0]);
  });
});
