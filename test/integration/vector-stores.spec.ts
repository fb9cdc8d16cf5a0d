import { join } from 'node:path';
import { MemoryStore } from '../../src/playbook-search/embeddings/memory.store.js';
import { PgvectorStore } from '../../src/playbook-search/embeddings/pgvector.store.js';
import type { VectorEntry, VectorStore } from '../../src/playbook-search/embeddings/vector-store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

/** real: the threads, PostgreSQL, and pgvector where the server has it; where it has not, the test says so. */
let db: TestDatabase;
let product: string;

beforeAll(async () => {
  db = await createTestDatabase();
  product = join(process.cwd(), 'native', 'bin', 'product.wasm');
});
afterAll(() => db.drop());

const memory = async (): Promise<VectorStore> => new MemoryStore({ product, threadAboveBytes: Infinity });
const thread = async (): Promise<VectorStore> => new MemoryStore({ product, threadAboveBytes: 0 });
let opened = 0;
const pgvector = (): Promise<VectorStore | undefined> =>
  PgvectorStore.open(db.dataSource, `test:${opened++}`);

const unit = (...values: number[]): Float32Array => {
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / length);
};
const entry = (key: string, vector: Float32Array, hash = `hash of ${key}`): VectorEntry => ({
  key,
  hash,
  vector,
});
const rounded = (scores: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...scores].map(([key, cosine]) => [key, Math.round(cosine * 1e5) / 1e5]));

const [east, north, northEast, west] = [unit(1, 0), unit(0, 1), unit(1, 1), unit(-1, 0)];

describe.each([
  ['in memory', memory],
  ['in memory, scanned in a thread', thread],
  ['by pgvector', pgvector],
])('vectors %s', (_name, open) => {
  let store: VectorStore | undefined;

  /** Runs the test where there is such a store, and says where there is none. */
  const withStore = async (test: (store: VectorStore) => Promise<void>): Promise<void> => {
    store = await open();
    if (store) return test(store);
    const rows: unknown[] = await db.dataSource.query(
      `SELECT FROM pg_available_extensions WHERE name = 'vector'`,
    );
    expect(rows).toEqual([]);
    process.stderr.write('this server has no pgvector: the contract was not tested on it\n');
  };
  afterEach(async () => {
    await store?.close();
    store = undefined;
  });

  it('gives the cosine of each candidate that has a vector, and of no other', () =>
    withStore(async (tested) => {
      await tested.put([
        entry('a@1', east),
        entry('b@1', northEast),
        entry('c@1', west),
        entry('d@1', north),
      ]);
      const scores = await tested.scores(east, ['c@1', 'b@1', 'a@1', 'unknown@1']);
      expect(rounded(scores)).toEqual({ 'a@1': 1, 'b@1': 0.70711, 'c@1': -1 });
      expect((await tested.scores(east, [])).size).toBe(0);
      expect(tested.size).toBe(4);
    }));

  it('gives only the nearest when that is asked', () =>
    withStore(async (tested) => {
      await tested.put([
        entry('a@1', east),
        entry('b@1', northEast),
        entry('c@1', west),
        entry('d@1', north),
      ]);
      const all = ['a@1', 'b@1', 'c@1', 'd@1'];
      expect(rounded(await tested.scores(east, all, 2))).toEqual({ 'a@1': 1, 'b@1': 0.70711 });
      expect((await tested.scores(east, all, 9)).size).toBe(4);
    }));

  it('replaces a vector, and knows from which text each was made', () =>
    withStore(async (tested) => {
      const asked = ['a@1'];
      await tested.put([entry('a@1', east, 'old')]);
      expect(rounded(await tested.scores(east, asked))).toEqual({ 'a@1': 1 });
      await tested.put([entry('a@1', west, 'new')]);
      expect([tested.has('a@1', 'old'), tested.has('a@1', 'new'), tested.size]).toEqual([false, true, 1]);
      // The very same array: what was remembered of it is not true any more.
      expect(rounded(await tested.scores(east, asked))).toEqual({ 'a@1': -1 });
    }));

  it('lets go of what is not kept', () =>
    withStore(async (tested) => {
      const asked = ['a@1', 'b@1'];
      await tested.put([entry('a@1', east), entry('b@1', west)]);
      await tested.scores(east, asked);
      expect(await tested.retain((key) => key === 'b@1')).toBe(1);
      expect(rounded(await tested.scores(east, asked))).toEqual({ 'b@1': -1 });
      expect([tested.size, tested.has('a@1', 'hash of a@1')]).toEqual([1, false]);
    }));

  it('finds nothing for a vector of another length', () =>
    withStore(async (tested) => {
      expect((await tested.scores(east, ['a@1'])).size).toBe(0);
      await tested.put([entry('a@1', east)]);
      expect((await tested.scores(unit(1, 0, 0), ['a@1'])).size).toBe(0);
    }));

  it('is exact among many', () =>
    withStore(async (tested) => {
      let state = 1;
      const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5;
      const vector = (): Float32Array => unit(...Array.from({ length: 48 }, random));
      const entries = Array.from({ length: 900 }, (_, at) => entry(`p${at}@1.0.0`, vector()));
      await tested.put(entries);
      const query = vector();
      const asked = entries.filter((_, at) => at % 3 === 0);
      const found = await tested.scores(
        query,
        asked.map(({ key }) => key),
      );
      expect(found.size).toBe(asked.length);
      for (const { key, vector: stored } of asked) {
        const cosine = stored.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0);
        expect(found.get(key)).toBeCloseTo(cosine, 5);
      }
    }));
});

describe('scans side by side, one in the thread and others beside it', () => {
  it('have each their own query, and vectors that are added meanwhile are no trouble', async () => {
    const store = new MemoryStore({ product, threadAboveBytes: 1_000 });
    const keys = Array.from({ length: 30_000 }, (_, at) => `p${at}@1`);
    await store.put(keys.map((key, at) => entry(key, at % 2 === 0 ? east : north)));
    const few = keys.slice(0, 2);
    // The thread is running before it is put to the test.
    await store.scores(northEast, keys);
    const inThread = store.scores(east, keys);
    for (let at = 0; at < 2_000; at++) {
      expect(rounded(await store.scores(west, few))).toEqual({ 'p0@1': -1, 'p1@1': 0 });
      if (at % 10 === 0) await store.put(few.map((key) => entry(`${key}.${at}`, west)));
    }
    const scores = [...(await inThread).values()];
    expect(scores.length).toBe(keys.length);
    expect(scores.filter((cosine, at) => cosine !== (at % 2 === 0 ? 1 : 0))).toEqual([]);
    await store.close();
  });
});

describe('a table that is compacted', () => {
  it('is searched where its rows stand now, by those who asked before as well', async () => {
    const store = new MemoryStore({ product, threadAboveBytes: Infinity });
    const keys = Array.from({ length: 5_000 }, (_, at) => `p${at}@1`);
    // So often that they do not fit into the memory that they take up afterwards.
    for (let times = 0; times < 4; times++) await store.put(keys.map((key) => entry(key, west)));
    await store.put(keys.map((key, at) => entry(key, at === 7 ? east : north)));
    await store.put(keys.slice(0, 1).map((key) => entry(key, northEast)));
    const before = await store.scores(east, keys);
    const { bytes } = store;
    expect(await store.retain(() => true)).toBe(0);
    expect(store.bytes).toBeLessThan(bytes);
    expect(await store.scores(east, keys)).toEqual(before);
    expect([before.get('p7@1'), before.get('p8@1')]).toEqual([1, 0]);
  });
});

describe('a scan in the thread whose table is compacted meanwhile', () => {
  it('ends as it began, and the next one finds what is left', async () => {
    const store = new MemoryStore({ product, threadAboveBytes: 0 });
    const keys = Array.from({ length: 6_000 }, (_, at) => `p${at}@1`);
    await store.put(keys.map((key, at) => entry(key, at < 10 ? east : north)));
    const { bytes } = store;
    const underWay = store.scores(east, keys);
    expect(await store.retain((key) => key.length < 5)).toBe(5_990);
    expect(store.bytes).toBeLessThan(bytes);
    const after = store.scores(east, keys);
    expect([...(await underWay).values()]).toEqual(keys.map((_, at) => (at < 10 ? 1 : 0)));
    expect([...(await after).entries()]).toEqual(keys.slice(0, 10).map((key) => [key, 1]));
    await store.close();
  });
});

describe('a thread of scans', () => {
  it('is closed with its scan under way, and started anew by the next one at once', async () => {
    const store = new MemoryStore({ product, threadAboveBytes: 0 });
    await store.put([entry('a@1', east)]);
    await store.scores(east, ['a@1']);
    const underWay = expect(store.scores(east, ['a@1'])).rejects.toThrow('was stopped');
    const closed = store.close();
    expect(rounded(await store.scores(east, ['a@1']))).toEqual({ 'a@1': 1 });
    await Promise.all([underWay, closed, store.close()]);
  });
});
