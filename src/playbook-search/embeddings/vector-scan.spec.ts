import fc from 'fast-check';
import { scan } from './vector-scan.js';
import { rowsPerBlock, VectorTable } from './vector-table.js';

const vectorOf = (dimensions: number) =>
  fc.array(fc.integer({ min: -8, max: 8 }), { minLength: dimensions, maxLength: dimensions });

describe('scan', () => {
  it('gives the product of the query and each row that is asked about, and of those the nearest', () => {
    const cases = fc.integer({ min: 1, max: 9 }).chain((dimensions) =>
      fc.record({
        query: vectorOf(dimensions),
        stored: fc.array(vectorOf(dimensions), { minLength: 1, maxLength: 12 }),
        seed: fc.nat(),
        top: fc.integer({ min: 1, max: 14 }),
      }),
    );
    fc.assert(
      fc.property(cases, ({ query, stored, seed, top }) => {
        const perBlock = 1 + (seed % 5);
        const blocks = [];
        for (let at = 0; at < stored.length; at += perBlock)
          blocks.push(Float32Array.from(stored.slice(at, at + perBlock).flat()));
        const rows = Int32Array.from(stored.keys()).filter((row) => (seed >> row) % 2 === 0);
        const expected = Array.from(rows, (row) =>
          (stored[row] ?? []).reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0),
        );
        const all = scan(Float32Array.from(query), blocks, perBlock, rows);
        expect(Array.from(all.cosines)).toEqual(expected);
        const nearest = scan(Float32Array.from(query), blocks, perBlock, rows, top);
        expect(Array.from(nearest.cosines).sort((a, b) => b - a)).toEqual(
          expected.sort((a, b) => b - a).slice(0, top),
        );
      }),
    );
  });
});

describe('VectorTable', () => {
  const one = (value: number): Float32Array => Float32Array.of(value, 0);

  it('grows block by block and leaves what was written where it is', () => {
    const table = new VectorTable(2);
    for (let at = 0; at <= rowsPerBlock; at++) table.put(`p${at}`, one(at));
    expect(table.blocks).toHaveLength(2);
    expect(table.rowOf(`p${rowsPerBlock}`)).toBe(rowsPerBlock);
    expect(table.blocks[1]?.[0]).toBe(rowsPerBlock);
    expect(table.bytes).toBe(2 * rowsPerBlock * 2 * 4);
  });

  it('never writes a row twice: what replaces a vector gets a row of its own until it is compacted', () => {
    const table = new VectorTable(2);
    table.put('a', one(1));
    table.put('b', one(2));
    table.put('a', one(3));
    table.delete('b');
    expect([table.size, table.dead, table.rowOf('a'), table.blocks[0]?.[0]]).toEqual([1, 2, 2, 1]);
    const compacted = table.compacted();
    expect([compacted.size, compacted.dead, compacted.rowOf('a'), compacted.blocks[0]?.[0]]).toEqual([
      1, 0, 0, 3,
    ]);
  });

  it('takes no vector of another length', () => {
    expect(() => new VectorTable(2).put('a', Float32Array.of(1))).toThrow(RangeError);
  });
});
