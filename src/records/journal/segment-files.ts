import { closeSync, openSync, readdirSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeLine, splitLines, type WrittenEntry } from './journal-entry.js';

/** The path of a segment. A journal is a folder of numbered segments, of which the last one is being written. */
export const segmentPath = (folder: string, number: number): string =>
  join(folder, `${String(number).padStart(10, '0')}.journal`);

/** Names of segments: ten digits, or more without leading zeros. */
const segmentName = /^(\d{10}|[1-9]\d{10,15})\.journal$/;

/** Numbers of the segments in the order of writing. Only regular files count. */
export function segmentsIn(folder: string): number[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && segmentName.test(entry.name))
    .map(({ name }) => Number.parseInt(name, 10))
    .filter(Number.isSafeInteger)
    .sort((a, b) => a - b);
}

/** Lower bits of a mark, which hold the position; the upper ones hold the segment. */
const positionBits = 32n;
const positionMask = (1n << positionBits) - 1n;

/**
 * Position up to which the newest segment is written, for a reader in another thread. A failed write leaves bytes in the file
 * for a moment: without the mark a reader would accept refused entries, and miss those written in their place. Segments are
 * counted from the last one of earlier processes (`replayThrough`), because a mark has 31 bits for them.
 */
export class WrittenMark {
  private readonly cell: BigInt64Array;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)) {
    this.cell = new BigInt64Array(memory);
  }

  /** Sets the position in the newest segment. */
  set(segment: number, position: number): void {
    Atomics.store(this.cell, 0, (BigInt(segment) << positionBits) | BigInt(position));
  }

  /** Number of bytes of a segment that may be read; Infinity for an older segment. */
  limitOf(segment: number): number {
    const mark = Atomics.load(this.cell, 0);
    const newest = Number(mark >> positionBits);
    if (segment < newest) return Infinity;
    return segment === newest ? Number(mark & positionMask) : 0;
  }
}

/** Size of the reserve. */
const reserveBytes = 262_144;

/**
 * Reserved space on the journal's disk, which is released when the disk is full. It is enough for the ends of some thousand
 * executions. They must be written, because segments can be removed only then.
 */
export class DiskReserve {
  private readonly path: string;

  constructor(folder: string) {
    this.path = join(folder, 'reserve');
  }

  /** Reserves the space. @returns whether it is reserved */
  take(): boolean {
    try {
      const taken = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
      if (taken < reserveBytes) writeFileSync(this.path, Buffer.alloc(reserveBytes), { mode: 0o600 });
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  /** Releases the space. */
  release(): void {
    rmSync(this.path, { force: true });
  }
}

/** Lines and bytes that could not be read. */
export interface Damage {
  readonly lines: number;
  readonly bytes: number;
}

/** Bytes that are read at a time. */
const chunkBytes = 262_144;
/** More bytes than any line has. As many without a line feed are damage, not a line that is being written. */
const maxLineBytes = 4_194_304;

/** Reads one segment from its beginning to the written position. */
export class SegmentReader {
  private readonly fd: number;
  private readonly chunk = Buffer.allocUnsafeSlow(chunkBytes);
  /** Beginning of a line whose end is not read yet. */
  private rest: Buffer = Buffer.alloc(0);
  private position = 0;
  private damagedLines = 0;
  private damagedBytes = 0;

  constructor(path: string) {
    this.fd = openSync(path, 'r');
  }

  /** Damage so far. */
  get damage(): Damage {
    return { lines: this.damagedLines, bytes: this.damagedBytes };
  }

  /** The entries of the next chunk; undefined at the end of the written ones. @param limit max position to read */
  next(limit = Infinity): WrittenEntry[] | undefined {
    const wanted = Math.min(chunkBytes, Math.max(0, limit - this.position));
    const length = readSync(this.fd, this.chunk, 0, wanted, this.position);
    if (length === 0) return undefined;
    this.position += length;
    const { lines, rest } = splitLines(Buffer.concat([this.rest, this.chunk.subarray(0, length)]));
    this.rest = rest;
    if (rest.length > maxLineBytes) this.giveUpRest();
    return lines.flatMap((line) => this.decode(line));
  }

  /** Closes the file. An incomplete last line counts as damage, because no more will be written. */
  end(): void {
    if (this.rest.length > 0) this.giveUpRest();
    closeSync(this.fd);
  }

  /** The entry of a line; none if the line is damaged. */
  private decode(line: Buffer): readonly WrittenEntry[] {
    const written = decodeLine(line);
    if (written) return [written];
    this.damagedLines += 1;
    this.damagedBytes += line.length + 1;
    return [];
  }

  /** Counts the incomplete line as damage. */
  private giveUpRest(): void {
    this.damagedLines += 1;
    this.damagedBytes += this.rest.length;
    this.rest = Buffer.alloc(0);
  }
}
