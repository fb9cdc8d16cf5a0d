import { EmbeddingUnavailable } from '../embedding-provider.js';
import { type SharedMemory, sharedMemory } from './vector-product.js';

const pageBytes = 65_536;
/** 4 GiB: there end the addresses of WebAssembly. */
const mostPages = 65_536;
/** 1 MiB at once. */
const growthPages = 16;

/** Each thread that scans has room of its own for its query, before the rows. */
const queryPlaces = { calls: 0, thread: 1 } as const;
export type ScanningThread = keyof typeof queryPlaces;
const firstRow = Object.keys(queryPlaces).length;

/** A table as each thread sees it. */
export interface SharedVectors {
  readonly memory: SharedMemory;
  readonly dimensions: number;
}

/** Bytes from one vector to the next: up to 16 numbers at a time are multiplied, and those that fill up are 0. */
export const strideOf = (dimensions: number): number => Math.ceil(dimensions / 16) * 64;
export const queryAddress = (dimensions: number, thread: ScanningThread): number =>
  queryPlaces[thread] * strideOf(dimensions);
export const rowAddress = (dimensions: number, row: number): number =>
  (firstRow + row) * strideOf(dimensions);

/**
 * Vectors of one length in one shared memory: it grows where it is, and another thread reads it there. A row is written
 * once: a scan under way never sees another playbook's vector in it.
 */
export class VectorTable implements SharedVectors {
  readonly memory: SharedMemory;
  private readonly rows = new Map<string, number>();
  private used = 0;

  constructor(
    readonly dimensions: number,
    private readonly maxPages = mostPages,
  ) {
    this.memory = sharedMemory(Math.ceil(rowAddress(dimensions, 0) / pageBytes), maxPages);
  }

  get size(): number {
    return this.rows.size;
  }

  /** Rows of playbooks that were replaced or removed; they are freed only with the whole table. */
  get dead(): number {
    return this.used - this.rows.size;
  }

  get bytes(): number {
    return this.memory.buffer.byteLength;
  }

  /**
   * @throws RangeError when the vector has another length
   * @throws EmbeddingUnavailable `index_full`
   */
  put(key: string, vector: Float32Array): void {
    if (vector.length !== this.dimensions) {
      throw new RangeError(`A vector of ${vector.length} dimensions among those of ${this.dimensions}`);
    }
    this.growTo(rowAddress(this.dimensions, this.used + 1));
    const row = this.used++;
    this.vectorAt(row).set(vector);
    this.rows.set(key, row);
  }

  delete(key: string): void {
    this.rows.delete(key);
  }

  rowOf(key: string): number | undefined {
    return this.rows.get(key);
  }

  /** What was written there, not a copy of it. */
  vectorAt(row: number): Float32Array<SharedArrayBuffer> {
    return new Float32Array(this.memory.buffer, rowAddress(this.dimensions, row), this.dimensions);
  }

  /** The same vectors without dead rows. */
  compacted(): VectorTable {
    const table = new VectorTable(this.dimensions, this.maxPages);
    for (const [key, row] of this.rows) table.put(key, this.vectorAt(row));
    return table;
  }

  private growTo(bytes: number): void {
    const present = this.bytes / pageBytes;
    const needed = Math.ceil(bytes / pageBytes);
    if (needed <= present) return;
    if (needed > this.maxPages) {
      const limit = `${(this.maxPages * pageBytes) / 2 ** 20} MiB`;
      throw new EmbeddingUnavailable(
        'index_full',
        `The vectors in memory are at their limit of ${limit}, ${this.used} of ${this.dimensions} dimensions; ` +
          'EMBEDDINGS_INDEX=pgvector has no such limit',
      );
    }
    this.memory.grow(Math.min(Math.max(needed - present, growthPages), this.maxPages - present));
  }
}
