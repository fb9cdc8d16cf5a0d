import fc from 'fast-check';
import { resolve } from 'node:path';
import { EmbeddingUnavailable } from '../embedding-provider.js';
import { readProduct } from './vector-product.js';
import { type Nearest, VectorScan } from './vector-scan.js';
import { type ScanningThread, strideOf, VectorTable } from './vector-table.js';

const product = readProduct(resolve('native', 'bin', 'product.wasm'));

const tableOf = (vectors: readonly Float32Array[], dimensions: number): VectorTable => {
  const table = new VectorTable(dimensions);
  vectors.forEach((vector, at) => table.put(`p${at}`, vector));
  return table;
};
const scanOf = (table: VectorTable, thread: ScanningThread = 'calls'): VectorScan =>
  new VectorScan(product, table, thread);

const productsOf = (one: Float32Array, other = one): number[] =>
  Array.from(one, (value, at) => value * (other[at] ?? NaN));
const sumOf = (values: readonly number[]): number => values.reduce((one, other) => one + other, 0);

/** A query, vectors of its length, and which of them are asked about. */
const casesOf = (component: fc.Arbitrary<number>, maxDimensions: number) =>
  fc.integer({ min: 1, max: maxDimensions }).chain((dimensions) => {
    const vector = fc
      .array(component, { minLength: dimensions, maxLength: dimensions })
      .map((values) => Float32Array.from(values));
    return fc
      .record({
        query: vector,
        stored: fc.array(vector, { minLength: 1, maxLength: 12 }),
        seed: fc.nat(),
        top: fc.integer({ min: 1, max: 14 }),
      })
      .map(({ seed, ...rest }) => ({
        ...rest,
        dimensions,
        rows: Int32Array.from(rest.stored.keys()).filter((row) => (seed >> row) % 2 === 0),
      }));
  });

describe('VectorScan', () => {
  it('gives the product of the query and each row that is asked about, and of those the nearest', () => {
    const descending = (a: number, b: number): number => b - a;
    fc.assert(
      fc.property(
        casesOf(fc.integer({ min: -8, max: 8 }), 40),
        ({ query, stored, dimensions, rows, top }) => {
          // Small whole numbers: their sums are exact in 32 bits, too.
          const expected = Array.from(rows, (row) => sumOf(productsOf(query, stored[row])));
          const scan = scanOf(tableOf(stored, dimensions));
          const all = scan.nearest(query, rows);
          expect([all.places, Array.from(all.cosines)]).toEqual([undefined, expected]);
          const { places, cosines } = scan.nearest(query, rows, top);
          expect(Array.from(cosines).sort(descending)).toEqual(expected.toSorted(descending).slice(0, top));
          if (!places) return expect(top).toBeGreaterThanOrEqual(rows.length);
          expect(new Set(places).size).toBe(top);
          expect(Array.from(places, (place) => expected[place])).toEqual(Array.from(cosines));
        },
      ),
    );
  });

  it('is as exact as 32 bits are: off by no more than each of its roundings may be', () => {
    const component = fc.float({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(casesOf(component, 1_600), ({ query, stored, dimensions, rows }) => {
        const { cosines } = scanOf(tableOf(stored, dimensions)).nearest(query, rows);
        for (const [at, row] of rows.entries()) {
          const products = productsOf(query, stored[row]);
          const magnitudes = sumOf(products.map(Math.abs));
          // A product, the sums of one of 16 lanes, and four more that bring the lanes together.
          const roundings = Math.ceil(dimensions / 16) + 4;
          const underflow = dimensions * 2 ** -149;
          expect(Math.abs((cosines[at] ?? NaN) - sumOf(products))).toBeLessThanOrEqual(
            1.01 * roundings * 2 ** -24 * magnitudes + underflow,
          );
        }
      }),
      { numRuns: 50 },
    );
  });

  it('finds the nearest of thousands', () => {
    const values = Array.from({ length: 5_000 }, (_, at) => (at * 7_919) % 5_000);
    const table = tableOf(
      values.map((value) => Float32Array.of(value)),
      1,
    );
    const rows = Int32Array.from(values.keys());
    const { places, cosines } = scanOf(table).nearest(Float32Array.of(1), rows, 105);
    expect(Array.from(cosines).sort((a, b) => b - a)).toEqual(
      Array.from({ length: 105 }, (_, at) => 4_999 - at),
    );
    expect(Array.from(places ?? [], (place) => values[place])).toEqual(Array.from(cosines));
  });

  it('does not mind a table that has grown since, nor the scan of the other thread', () => {
    const table = tableOf([Float32Array.of(1, 2)], 2);
    const [calls, thread] = [scanOf(table, 'calls'), scanOf(table, 'thread')];
    const rows = (...which: number[]): Int32Array<ArrayBuffer> => Int32Array.from(which);
    const only = ({ cosines }: Nearest): number[] => Array.from(cosines);
    expect(only(calls.nearest(Float32Array.of(1, 1), rows(0)))).toEqual([3]);
    const before = table.bytes;
    for (let at = 1; table.bytes === before; at++) table.put(`p${at}`, Float32Array.of(at, 0));
    const last = table.size - 1;
    expect(only(thread.nearest(Float32Array.of(0, 1), rows(0, last)))).toEqual([2, 0]);
    expect(only(calls.nearest(Float32Array.of(1, 0), rows(0, last)))).toEqual([1, last]);
  });

  it('takes no query that is longer than the vectors: behind it is the place of another', () => {
    const scan = scanOf(tableOf([Float32Array.of(1, 2)], 2));
    expect(() => scan.nearest(Float32Array.of(1, 2, 3), Int32Array.of(0))).toThrow(RangeError);
  });
});

describe('VectorTable', () => {
  const one = (value: number): Float32Array => Float32Array.of(value, 0);
  const pageBytes = 65_536;

  it('grows where it is and leaves what was written there', () => {
    const table = new VectorTable(2);
    const { memory } = table;
    expect(table.bytes).toBe(pageBytes);
    const rows = (17 * pageBytes) / strideOf(2);
    for (let at = 0; at < rows; at++) table.put(`p${at}`, one(at));
    // One MiB at once, and two rows of queries come first.
    expect(table.bytes).toBe(33 * pageBytes);
    expect(table.memory).toBe(memory);
    const kept = Array.from({ length: rows }, (_, at) => table.vectorAt(table.rowOf(`p${at}`) ?? -1)[0]);
    expect(kept).toEqual(Array.from({ length: rows }, (_, at) => at));
  });

  it('has a place for the query of each thread before the first row', () => {
    const table = tableOf([new Float32Array(17).fill(3)], 17);
    scanOf(table, 'calls').nearest(new Float32Array(17).fill(1), Int32Array.of(0));
    scanOf(table, 'thread').nearest(new Float32Array(17).fill(2), Int32Array.of(0));
    const padded = (value: number): number[] => Array.from({ length: 32 }, (_, at) => (at < 17 ? value : 0));
    expect(Array.from(new Float32Array(table.memory.buffer, 0, 3 * 32))).toEqual([
      ...padded(1),
      ...padded(2),
      ...padded(3),
    ]);
  });

  it('has room for two queries and a vector, however long they are', () => {
    const long = new Float32Array(16_384).fill(1 / 128);
    const table = new VectorTable(long.length);
    table.put('a', long);
    const { cosines } = scanOf(table, 'thread').nearest(long, Int32Array.of(0));
    expect(Array.from(cosines)).toEqual([1]);
  });

  it('says what its limit is when it is full, and keeps what it has', () => {
    const table = new VectorTable(1_000, 1);
    const vector = new Float32Array(1_000);
    const fit = Math.floor(pageBytes / strideOf(1_000)) - 2;
    for (let at = 0; at < fit; at++) table.put(`p${at}`, vector.fill(at));
    const limit = `at their limit of 0.0625 MiB, ${fit} of 1000 dimensions`;
    expect(() => table.put('more', vector)).toThrow(limit);
    expect(() => table.put('more', vector)).toThrow(EmbeddingUnavailable);
    expect([table.size, table.dead, table.rowOf('more'), table.vectorAt(fit - 1)[999]]).toEqual([
      fit,
      0,
      undefined,
      fit - 1,
    ]);
  });

  it('never writes a row twice: what replaces a vector gets a row of its own until it is compacted', () => {
    const table = new VectorTable(2);
    table.put('a', one(1));
    table.put('b', one(2));
    table.put('a', one(3));
    table.delete('b');
    expect([table.size, table.dead, table.rowOf('a'), table.vectorAt(0)[0]]).toEqual([1, 2, 2, 1]);
    const compacted = table.compacted();
    expect([compacted.size, compacted.dead, compacted.rowOf('a'), compacted.vectorAt(0)[0]]).toEqual([
      1, 0, 0, 3,
    ]);
  });

  it('takes no vector of another length', () => {
    expect(() => new VectorTable(2).put('a', Float32Array.of(1))).toThrow(RangeError);
  });
});
