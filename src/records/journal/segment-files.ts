import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const suffix = '.journal';

/** A journal is a folder of numbered segments; the one with the highest number is being written. */
export const segmentPath = (folder: string, number: number): string =>
  join(folder, `${String(number).padStart(10, '0')}${suffix}`);

/** Ten digits, and more of them where ten do not suffice; a name of zeros before that would be another file's. */
const segmentName = /^(\d{10}|[1-9]\d{10,15})\.journal$/;

/** In the order of their writing. A folder or pipe that bears such a name is no segment. */
export function segmentsIn(folder: string): number[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && segmentName.test(entry.name))
    .map(({ name }) => Number.parseInt(name, 10))
    .filter(Number.isSafeInteger)
    .sort((a, b) => a - b);
}

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
