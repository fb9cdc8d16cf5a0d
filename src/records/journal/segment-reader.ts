import { closeSync, openSync, readSync } from 'node:fs';
import { decodeLine, splitLines, type WrittenEntry } from './journal-entry.js';

/** Lines and bytes that could not be read. */
export interface Damage {
  readonly lines: number;
  readonly bytes: number;
}

const chunkBytes = 262_144;
/** No line comes near: a stretch of this length without a line feed is damage, not a line that is being written. */
const maxLineBytes = 4_194_304;

/** Reads one segment from its beginning, as far as it is written at the moment. */
export class SegmentReader {
  private readonly fd: number;
  private readonly chunk = Buffer.allocUnsafeSlow(chunkBytes);
  /** The beginning of a line whose end was not read yet. */
  private rest: Buffer = Buffer.alloc(0);
  private position = 0;
  private damagedLines = 0;
  private damagedBytes = 0;

  constructor(path: string) {
    this.fd = openSync(path, 'r');
  }

  get damage(): Damage {
    return { lines: this.damagedLines, bytes: this.damagedBytes };
  }

  /**
   * @param limit of the bytes that may be read
   * @returns the entries of the next chunk; undefined at the end of what is written so far
   */
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

  /** Nothing more will be written: what is left of a line is torn. */
  end(): void {
    if (this.rest.length > 0) this.giveUpRest();
    closeSync(this.fd);
  }

  private decode(line: Buffer): readonly WrittenEntry[] {
    const written = decodeLine(line);
    if (written) return [written];
    this.damagedLines += 1;
    this.damagedBytes += line.length + 1;
    return [];
  }

  private giveUpRest(): void {
    this.damagedLines += 1;
    this.damagedBytes += this.rest.length;
    this.rest = Buffer.alloc(0);
  }
}
