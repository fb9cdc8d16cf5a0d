const positionBits = 32n;
const positionMask = (1n << positionBits) - 1n;

/**
 * How far the newest segment is written, told to a reader in another thread. A write that fails half way leaves bytes
 * in the file for a moment; whoever read them would take for promised what was refused, and then miss what is written
 * in their place. Segments are counted from the last of earlier gateways (`replayThrough`), for a mark has 31 bits for them.
 */
export class WrittenMark {
  private readonly cell: BigInt64Array;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)) {
    this.cell = new BigInt64Array(memory);
  }

  set(segment: number, position: number): void {
    Atomics.store(this.cell, 0, (BigInt(segment) << positionBits) | BigInt(position));
  }

  /** @returns how many bytes of the segment may be read; those before the newest are there wholly */
  limitOf(segment: number): number {
    const mark = Atomics.load(this.cell, 0);
    const newest = Number(mark >> positionBits);
    if (segment < newest) return Infinity;
    return segment === newest ? Number(mark & positionMask) : 0;
  }
}
