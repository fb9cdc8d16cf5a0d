import { crc32 } from 'node:zlib';
import { isObject } from '../../base/common/json.js';

/**
 * An entry of a journal, with JSON values that only its owner understands. `start` begins a record, `end` ends the one with
 * the same id, and both together are a whole record. An id alone cancels the start.
 */
export interface JournalEntry<Start extends object = object, End extends object = object> {
  readonly id: string;
  readonly start?: Start;
  readonly end?: End;
}

/** A record, as the sink gets it. */
export interface JournalRecord {
  readonly id: string;
  readonly start: object;
  /** Undefined if the process died before the end was written. */
  readonly end: object | undefined;
}

/** An entry that was read from a segment. */
export interface WrittenEntry {
  /** Number of complete records since the journal was opened, including this one. */
  readonly place: number;
  /** Time of writing, in milliseconds since the epoch. */
  readonly at: number;
  readonly entry: JournalEntry;
}

const newline = 0x0a;
/** Hexadecimal digits of a checksum. */
const checksumLength = 8;
/** Characters before the JSON of a line: the checksum and a space. */
const headLength = checksumLength + 1;

/** A line `<CRC-32 of the JSON, 8 hexadecimal digits> <JSON: [place, at, entry]>`. Damage affects only the damaged lines. */
export function encodeLine(place: number, at: number, entry: string): string {
  const json = `[${place},${at},${entry}]`;
  return `${crc32(json).toString(16).padStart(checksumLength, '0')} ${json}\n`;
}

/** Reads a line without its line feed; undefined if it is damaged. */
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

/** The checksum at the beginning of a line; undefined if there is none. */
function checksumOf(line: Buffer): number | undefined {
  const digits = line.toString('latin1', 0, headLength);
  return /^[\da-f]{8} $/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

/** The whole lines of a buffer, and the beginning of the last one. */
export function splitLines(buffer: Buffer): { readonly lines: Buffer[]; readonly rest: Buffer } {
  const lines: Buffer[] = [];
  let from = 0;
  for (let to = buffer.indexOf(newline); to >= 0; to = buffer.indexOf(newline, from)) {
    lines.push(buffer.subarray(from, to));
    from = to + 1;
  }
  return { lines, rest: buffer.subarray(from) };
}

/** Whether the JSON of a line is an entry. The checksum detects damage, but not what another program has written. */
function isWritten(value: unknown): value is [place: number, at: number, entry: JournalEntry] {
  if (!Array.isArray(value)) return false;
  const [place, at, entry] = value as unknown[];
  if (typeof place !== 'number' || typeof at !== 'number' || !isObject(entry)) return false;
  const { id, start = {}, end = {} } = entry as Partial<JournalEntry>;
  return typeof id === 'string' && isObject(start) && isObject(end);
}
