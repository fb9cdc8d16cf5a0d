import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { hex8 } from '../../common/hex.js';
import { isEntry, type JournalEntry } from './journal-entry.js';

const newline = 0x0a;
const checksumLength = 8;
/** The checksum and a space. */
const headLength = checksumLength + 1;
/** In UTF-8. */
const mostBytesPerCharacter = 3;
/** Characters after which entries go on in another line. */
const lineCharacters = 65_536;

/**
 * Lines of the journal: `<CRC-32 of the JSON, 8 hexadecimal digits> <JSON array of entries>` and a line feed. What is
 * written together shares a checksum, which costs less than one for each entry; damage costs the lines it hits, no more.
 */
export class LineEncoder {
  private bytes = Buffer.allocUnsafeSlow(lineCharacters * mostBytesPerCharacter);
  private length = 0;

  /**
   * @param entries each as JSON
   * @returns one line or several, in a buffer that is used again: valid until the next call
   */
  encode(entries: readonly string[]): Buffer {
    this.length = 0;
    let json = '';
    for (const entry of entries) {
      json += json === '' ? `[${entry}` : `,${entry}`;
      if (json.length < lineCharacters) continue;
      this.add(`${json}]`);
      json = '';
    }
    if (json !== '') this.add(`${json}]`);
    return this.bytes.subarray(0, this.length);
  }

  private add(json: string): void {
    this.makeRoom(headLength + json.length * mostBytesPerCharacter + 1);
    const from = this.length + headLength;
    const to = from + this.bytes.write(json, from);
    this.bytes.write(`${hex8(crc32(this.bytes.subarray(from, to)))} `, this.length, 'latin1');
    this.bytes[to] = newline;
    this.length = to + 1;
  }

  private makeRoom(most: number): void {
    if (this.length + most <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.length + most) * 2);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** @param line without its line feed. @returns its entries; undefined where it is damaged */
export function decodeLine(line: Buffer): readonly JournalEntry[] | undefined {
  const json = line.subarray(headLength);
  if (crc32(json) !== checksumOf(line)) return undefined;
  try {
    const value: unknown = JSON.parse(json.toString());
    // Earlier versions wrote one entry a line.
    const entries: unknown[] = Array.isArray(value) ? value : [value];
    // A checksum tells damage; it does not tell what another version wrote.
    return entries.every(isEntry) ? entries : undefined;
  } catch {
    return undefined;
  }
}

function checksumOf(line: Buffer): number | undefined {
  const digits = line.toString('latin1', 0, headLength);
  return /^[\da-f]{8} $/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

/** Whole lines of a buffer and what is left of the last one. */
export function splitLines(buffer: Buffer): { readonly lines: Buffer[]; readonly rest: Buffer } {
  const lines: Buffer[] = [];
  let from = 0;
  for (let to = buffer.indexOf(newline); to >= 0; to = buffer.indexOf(newline, from)) {
    lines.push(buffer.subarray(from, to));
    from = to + 1;
  }
  return { lines, rest: buffer.subarray(from) };
}
