/** 4 MiB at 256 dimensions, 8 MiB at 512. */
export const rowsPerBlock = 4_096;

/**
 * Vectors of one length in shared memory, block after block: it grows without copying, and another thread reads it
 * where it lies. A row is written once: a scan under way never sees another playbook's vector in it.
 */
export class VectorTable {
  readonly blocks: Float32Array<SharedArrayBuffer>[] = [];
  private readonly rows = new Map<string, number>();
  private used = 0;

  constructor(readonly dimensions: number) {}

  get size(): number {
    return this.rows.size;
  }

  /** Rows of playbooks that were replaced or removed; they are freed only with the whole table. */
  get dead(): number {
    return this.used - this.rows.size;
  }

  get bytes(): number {
    return this.blocks.length * rowsPerBlock * this.dimensions * Float32Array.BYTES_PER_ELEMENT;
  }

  /** @throws RangeError when the vector has another length */
  put(key: string, vector: Float32Array): void {
    if (vector.length !== this.dimensions) {
      throw new RangeError(`A vector of ${vector.length} dimensions among those of ${this.dimensions}`);
    }
    const row = this.used++;
    const place = row % rowsPerBlock;
    if (place === 0) this.blocks.push(this.newBlock());
    this.blocks.at(-1)?.set(vector, place * this.dimensions);
    this.rows.set(key, row);
  }

  delete(key: string): void {
    this.rows.delete(key);
  }

  rowOf(key: string): number | undefined {
    return this.rows.get(key);
  }

  /** The same vectors without dead rows. */
  compacted(): VectorTable {
    const table = new VectorTable(this.dimensions);
    for (const [key, row] of this.rows) {
      const start = (row % rowsPerBlock) * this.dimensions;
      const block = this.blocks[Math.floor(row / rowsPerBlock)];
      if (block) table.put(key, block.subarray(start, start + this.dimensions));
    }
    return table;
  }

  private newBlock(): Float32Array<SharedArrayBuffer> {
    const bytes = rowsPerBlock * this.dimensions * Float32Array.BYTES_PER_ELEMENT;
    return new Float32Array(new SharedArrayBuffer(bytes));
  }
}
