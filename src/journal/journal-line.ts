import { crc32 } from 'node:zlib';
import { isWritten, type WrittenEntry } from './journal-entry.js';

const newline = 0x0a;
const checksumLength = 8;
/** The checksum and a space. */
const headLength = checksumLength + 1;

/**
 * A line of the journal: `<CRC-32 of the JSON, 8 hexadecimal digits> <JSON: [place, at, entry]>` and a line feed.
 * Damage costs the lines it hits, no more.
 * @param entry as JSON
 */
export function encodeLine(place: number, at: number, entry: string): string {
  const json = `[${place},${at},${entry}]`;
  return `${crc32(json).toString(16).padStart(checksumLength, '0')} ${json}\n`;
}

/** @param line without its line feed. @returns undefined where it is damaged */
export function decodeLine(line: Buffer): WrittenEntry | undefined {
  const json = line.subarray(headLength);
  if (crc32(json) !== checksumOf(line)) return undefined;
  try {
    const value: unknown = JSON.parse(json.toString());
    return isWritten(value) ? { place: value[0], at: value[1], entry: value[2] } : undefined;
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
