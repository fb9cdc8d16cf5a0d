export interface Nearest {
  /** Places among the rows that were asked about; undefined: all of them, in their order. */
  readonly places: Int32Array<ArrayBuffer> | undefined;
  readonly cosines: Float32Array<ArrayBuffer>;
}

/**
 * Cosines of vectors of length 1, exactly.
 * @param blocks of `rowsPerBlock` rows each
 * @param rows those that are asked about
 * @param top only so many, the nearest, in no order; absent: all
 */
export function scan(
  query: Float32Array,
  blocks: readonly Float32Array[],
  rowsPerBlock: number,
  rows: Int32Array<ArrayBuffer>,
  top = rows.length,
): Nearest {
  const dimensions = query.length;
  const cosines = new Float32Array(rows.length);
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0;
    const block = blocks[Math.floor(row / rowsPerBlock)];
    if (block) cosines[at] = product(query, block, (row % rowsPerBlock) * dimensions);
  }
  return top < rows.length ? nearestOf(cosines, top) : { places: undefined, cosines };
}

function product(query: Float32Array, values: Float32Array, start: number): number {
  // Four sums: they do not wait for each other.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  const whole = query.length - (query.length % 4);
  for (let at = 0, from = start; at < whole; at += 4, from += 4) {
    a += (query[at] ?? 0) * (values[from] ?? 0);
    b += (query[at + 1] ?? 0) * (values[from + 1] ?? 0);
    c += (query[at + 2] ?? 0) * (values[from + 2] ?? 0);
    d += (query[at + 3] ?? 0) * (values[from + 3] ?? 0);
  }
  for (let at = whole; at < query.length; at++) a += (query[at] ?? 0) * (values[start + at] ?? 0);
  return a + b + c + d;
}

function nearestOf(cosines: Float32Array<ArrayBuffer>, top: number): Nearest {
  const sorted = cosines.slice().sort();
  const least = sorted[sorted.length - top] ?? Infinity;
  const nearest = { places: new Int32Array(top), cosines: new Float32Array(top) };
  let taken = 0;
  const take = (at: number): void => {
    if (taken === top) return;
    nearest.places[taken] = at;
    nearest.cosines[taken++] = cosines[at] ?? 0;
  };
  // Equals of the last one only as far as there is room.
  for (let at = 0; at < cosines.length; at++) if ((cosines[at] ?? 0) > least) take(at);
  for (let at = 0; at < cosines.length; at++) if (cosines[at] === least) take(at);
  return nearest;
}
