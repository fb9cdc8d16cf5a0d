import { type Product, type ProductModule, productIn } from './vector-product.js';
import {
  queryAddress,
  rowAddress,
  type ScanningThread,
  type SharedVectors,
  strideOf,
} from './vector-table.js';

export interface Nearest {
  /** Places among the rows that were asked about; undefined: all of them, in their order. */
  readonly places: Int32Array<ArrayBuffer> | undefined;
  readonly cosines: Float32Array<ArrayBuffer>;
}

/** Scans of one table on one thread: two threads scan side by side, since each writes its query to its own place. */
export class VectorScan {
  private readonly product: Product;
  private readonly query: Float32Array<SharedArrayBuffer>;

  constructor(
    module: ProductModule,
    { memory, dimensions }: SharedVectors,
    private readonly thread: ScanningThread,
  ) {
    this.product = productIn(memory, module);
    this.query = new Float32Array(memory.buffer, queryAddress(dimensions, thread), dimensions);
  }

  /**
   * Cosines of vectors of length 1, each reckoned in 32 bits: without an approximate index, so none is missed.
   * @param query of the table's dimensions
   * @param rows those that are asked about, all of them written
   * @param top only so many, the nearest, in no order; absent: all
   */
  nearest(query: Float32Array, rows: Int32Array<ArrayBuffer>, top = rows.length): Nearest {
    this.query.set(query);
    const cosines = this.cosines(rows);
    return top < rows.length ? nearestOf(cosines, top) : { places: undefined, cosines };
  }

  private cosines(rows: Int32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
    const { product } = this;
    const dimensions = this.query.length;
    const stride = strideOf(dimensions);
    const query = queryAddress(dimensions, this.thread);
    const first = rowAddress(dimensions, 0);
    const cosines = new Float32Array(rows.length);
    for (let at = 0; at < rows.length; at++) {
      cosines[at] = product(query, first + (rows[at] ?? 0) * stride, stride);
    }
    return cosines;
  }
}

function nearestOf(cosines: Float32Array<ArrayBuffer>, top: number): Nearest {
  const least = leastOfGreatest(cosines, top);
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

/** The least of the `count` greatest: a heap of so many, for which most values are too small. */
function leastOfGreatest(values: Float32Array<ArrayBuffer>, count: number): number {
  // In ascending order it is a heap.
  const heap = values.slice(0, count).sort();
  for (let at = count; at < values.length; at++) {
    const value = values[at] ?? 0;
    if (value > (heap[0] ?? Infinity)) replaceLeast(heap, value);
  }
  return heap[0] ?? Infinity;
}

function replaceLeast(heap: Float32Array<ArrayBuffer>, value: number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if ((heap[child + 1] ?? Infinity) < (heap[child] ?? Infinity)) child++;
    const least = heap[child];
    if (least === undefined || least >= value) break;
    heap[at] = least;
    at = child;
  }
  heap[at] = value;
}
