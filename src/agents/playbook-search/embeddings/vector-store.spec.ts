import { setImmediate as nextTurn } from 'node:timers/promises';
import { VectorStore } from './vector-store.js';

const unit = (...values: number[]): Float32Array => {
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / length);
};
const textOf = (playbook_id: string, hash = `hash of ${playbook_id}`) => ({
  playbook_id,
  version: '1',
  hash,
});
const entry = (id: string, vector: Float32Array, hash?: string) => ({ ...textOf(id, hash), vector });
const [east, north, northEast, west] = [unit(1, 0), unit(0, 1), unit(1, 1), unit(-1, 0)];
const rounded = (scores: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...scores].map(([key, cosine]) => [key, Math.round(cosine * 1e5) / 1e5]));

describe('VectorStore', () => {
  let store: VectorStore;
  beforeEach(() => {
    store = new VectorStore();
    store.put([entry('a', east), entry('b', northEast), entry('c', west), entry('d', north)]);
  });

  it('gives the cosine of each candidate that has a vector, and of no other', async () => {
    expect(rounded(await store.scores(east, new Set(['c', 'b', 'a', 'unknown'])))).toEqual({
      a: 1,
      b: 0.70711,
      c: -1,
    });
    expect((await store.scores(east, new Set([]))).size).toBe(0);
  });

  it('gives only the nearest when that is asked', async () => {
    const all = new Set(['a', 'b', 'c', 'd']);
    expect(rounded(await store.scores(east, all, 2))).toEqual({ a: 1, b: 0.70711 });
    expect((await store.scores(east, all, 9)).size).toBe(4);
    expect((await store.scores(east, all, 4)).size).toBe(4);
  });

  it('replaces a vector, and knows from which text each was made', async () => {
    store.put([entry('a', west, 'new')]);
    expect(rounded(await store.scores(east, new Set(['a'])))).toEqual({ a: -1 });
    expect([store.has(textOf('a')), store.has(textOf('a', 'new')), store.size]).toEqual([false, true, 4]);
    expect(store.has({ ...textOf('a', 'new'), version: '2' })).toBe(false);
  });

  it('lets go of what is not kept', async () => {
    store.retain(({ playbook_id }) => playbook_id === 'b');
    expect(rounded(await store.scores(east, new Set(['a', 'b'])))).toEqual({ b: 0.70711 });
    expect([store.size, store.has(textOf('a'))]).toEqual([1, false]);
  });

  it('finds nothing for a vector of another length', async () => {
    expect((await store.scores(unit(1, 0, 0), new Set(['a']))).size).toBe(0);
  });

  it('lets others go first while it looks at many', async () => {
    const keys = Array.from({ length: 20_000 }, (_, at) => `p${at}`);
    const vector = unit(...Array.from({ length: 768 }, (_, at) => at + 1));
    store.put(keys.map((key) => entry(key, vector)));
    let turns = 0;
    let isOver = false;
    const scores = store.scores(vector, new Set(keys)).finally(() => (isOver = true));
    while (!isOver) {
      await nextTurn();
      turns++;
    }
    expect((await scores).size).toBe(keys.length);
    expect(turns).toBeGreaterThan(1);
  });
});
