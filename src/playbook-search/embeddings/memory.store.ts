import { ScanThread } from './scan-thread.js';
import { type ProductModule, readProduct } from './vector-product.js';
import { type Nearest, VectorScan } from './vector-scan.js';
import type { VectorEntry, VectorStore } from './vector-store.js';
import { type SharedVectors, VectorTable } from './vector-table.js';

/** So few dead rows are never worth copying the others. */
const fewDead = 4_096;

export interface MemoryStoreSettings {
  /** The program of the thread. */
  readonly scanScript: string | URL;
  /** The file native/bin/product.wasm. */
  readonly product: string;
  /** More rows than these are scanned in the thread: about 5 ms on the thread of the calls. */
  readonly threadAbove: number;
}

interface Rows {
  readonly of: number;
  readonly rows: Int32Array<ArrayBuffer>;
  /** Of the row at the same place. */
  readonly keys: readonly string[];
}

/** Vectors in this process, searched one by one: exact, and the fastest up to tens of thousands. */
export class MemoryStore implements VectorStore {
  private table: VectorTable | undefined;
  /** Of `table`. */
  private scan: VectorScan | undefined;
  private readonly hashes = new Map<string, string>();
  private readonly product: ProductModule;
  private readonly thread: ScanThread;
  /** Changes with every change of rows. */
  private changes = 0;
  private readonly remembered = new WeakMap<readonly string[], Rows>();

  constructor(private readonly settings: MemoryStoreSettings) {
    this.product = readProduct(settings.product);
    this.thread = new ScanThread(settings.scanScript, this.product);
  }

  get size(): number {
    return this.table?.size ?? 0;
  }

  get bytes(): number {
    return this.table?.bytes ?? 0;
  }

  has(key: string, hash: string): boolean {
    return this.hashes.get(key) === hash;
  }

  async put(entries: readonly VectorEntry[]): Promise<void> {
    this.changes++;
    for (const { key, hash, vector } of entries) {
      const table = this.table ?? this.use(new VectorTable(vector.length));
      table.put(key, vector);
      this.hashes.set(key, hash);
    }
  }

  async retain(isKept: (key: string) => boolean): Promise<number> {
    let removed = 0;
    for (const key of this.hashes.keys()) {
      if (isKept(key)) continue;
      this.hashes.delete(key);
      this.table?.delete(key);
      removed++;
    }
    if (this.table && this.table.dead > Math.max(this.table.size, fewDead)) {
      this.use(this.table.compacted());
    }
    if (removed > 0) this.changes++;
    return removed;
  }

  async scores(
    query: Float32Array,
    candidates: readonly string[],
    top?: number,
  ): Promise<ReadonlyMap<string, number>> {
    if (!this.table || this.table.dimensions !== query.length) return new Map();
    const { rows, keys } = this.rowsOf(candidates, this.table);
    const { places, cosines } = await this.nearest(query, this.table, rows, top);
    const scores = new Map<string, number>();
    for (let at = 0; at < cosines.length; at++) {
      const key = keys[places ? (places[at] ?? -1) : at];
      if (key !== undefined) scores.set(key, cosines[at] ?? 0);
    }
    return scores;
  }

  close(): Promise<void> {
    return this.thread.close();
  }

  private use(table: VectorTable): VectorTable {
    this.table = table;
    this.scan = new VectorScan(this.product, table, 'calls');
    return table;
  }

  private async nearest(
    query: Float32Array,
    { memory, dimensions }: SharedVectors,
    rows: Int32Array<ArrayBuffer>,
    top: number | undefined,
  ): Promise<Nearest> {
    if (this.scan && rows.length <= this.settings.threadAbove) return this.scan.nearest(query, rows, top);
    return this.thread.scan({ vectors: { memory, dimensions }, query, rows, top });
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
