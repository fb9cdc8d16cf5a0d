import { ScanThread } from './scan-thread.js';
import { type ProductModule, readProduct } from './vector-product.js';
import { type Nearest, VectorScan } from './vector-scan.js';
import type { VectorEntry, VectorStore } from './vector-store.js';
import { strideOf, VectorTable } from './vector-table.js';

/** So few dead rows are never worth copying the others. */
const fewDead = 4_096;

export interface MemoryStoreSettings {
  /** The file native/bin/product.wasm. */
  readonly product: string;
  /** More bytes of vectors than these are scanned in the thread. */
  readonly threadAboveBytes: number;
}

/** A table and what scans it: here, and in a thread. */
interface Index {
  readonly table: VectorTable;
  readonly scan: VectorScan;
  readonly thread: ScanThread;
}

interface Rows {
  readonly of: number;
  readonly rows: Int32Array<ArrayBuffer>;
  /** Of the row at the same place. */
  readonly keys: readonly string[];
}

/** Vectors in this process, searched one by one: exact, and the fastest up to tens of thousands. */
export class MemoryStore implements VectorStore {
  private index: Index | undefined;
  private readonly hashes = new Map<string, string>();
  private readonly product: ProductModule;
  /** The threads of former tables. */
  private finished: Promise<unknown> = Promise.resolve();
  /** Changes with every change of rows. */
  private changes = 0;
  private readonly remembered = new WeakMap<readonly string[], Rows>();

  constructor(private readonly settings: MemoryStoreSettings) {
    this.product = readProduct(settings.product);
  }

  get size(): number {
    return this.index?.table.size ?? 0;
  }

  get bytes(): number {
    return this.index?.table.bytes ?? 0;
  }

  has(key: string, hash: string): boolean {
    return this.hashes.get(key) === hash;
  }

  async put(entries: readonly VectorEntry[]): Promise<void> {
    this.changes++;
    for (const { key, hash, vector } of entries) {
      this.index ??= this.indexOf(new VectorTable(vector.length));
      this.index.table.put(key, vector);
      this.hashes.set(key, hash);
    }
  }

  async retain(isKept: (key: string) => boolean): Promise<number> {
    let removed = 0;
    for (const key of this.hashes.keys()) {
      if (isKept(key)) continue;
      this.hashes.delete(key);
      this.index?.table.delete(key);
      removed++;
    }
    this.compact();
    if (removed > 0) this.changes++;
    return removed;
  }

  async scores(
    query: Float32Array,
    candidates: readonly string[],
    top?: number,
  ): Promise<ReadonlyMap<string, number>> {
    const { index } = this;
    if (!index || index.table.dimensions !== query.length) return new Map();
    const { rows, keys } = this.rowsOf(candidates, index.table);
    const { places, cosines } = await this.nearest(query, index, rows, top);
    const scores = new Map<string, number>();
    for (let at = 0; at < cosines.length; at++) {
      const key = keys[places ? (places[at] ?? -1) : at];
      if (key !== undefined) scores.set(key, cosines[at] ?? 0);
    }
    return scores;
  }

  async close(): Promise<void> {
    await Promise.all([this.index?.thread.close(), this.finished]);
  }

  private indexOf(table: VectorTable): Index {
    const { product } = this;
    const { memory, dimensions } = table;
    const thread = new ScanThread({ product, vectors: { memory, dimensions } });
    return { table, scan: new VectorScan(product, table, 'calls'), thread };
  }

  private compact(): void {
    if (!this.index) return;
    const { table, thread } = this.index;
    if (table.dead <= Math.max(table.size, fewDead)) return;
    this.index = this.indexOf(table.compacted());
    this.changes++;
    this.finished = Promise.all([this.finished, thread.finish()]);
  }

  private async nearest(
    query: Float32Array,
    { table, scan, thread }: Index,
    rows: Int32Array<ArrayBuffer>,
    top: number | undefined,
  ): Promise<Nearest> {
    const bytes = rows.length * strideOf(table.dimensions);
    if (bytes <= this.settings.threadAboveBytes) return scan.nearest(query, rows, top);
    return thread.scan({ query, rows, top });
  }

  private rowsOf(candidates: readonly string[], table: VectorTable): Rows {
    const known = this.remembered.get(candidates);
    if (known?.of === this.changes) return known;
    const keys: string[] = [];
    const rows: number[] = [];
    for (const key of candidates) {
      const row = table.rowOf(key);
      if (row === undefined) continue;
      keys.push(key);
      rows.push(row);
    }
    const made = { of: this.changes, keys, rows: Int32Array.from(rows) };
    this.remembered.set(candidates, made);
    return made;
  }
}
