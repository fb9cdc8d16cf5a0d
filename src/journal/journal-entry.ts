import { isObject } from '../common/json.js';
/**
 * One message to a journal about a record, in JSON values that mean something to its owner alone. `start` by itself
 * begins a record, `end` by itself ends the one of the same id, and both are a record in one piece; an id alone takes
 * the start back: there is no record.
 */
export interface JournalEntry<Start extends object = object, End extends object = object> {
  readonly id: string;
  readonly start?: Start;
  readonly end?: End;
}

/** A record as its owner's sink gets it. */
export interface JournalRecord {
  readonly id: string;
  readonly start: object;
  /** Undefined: the gateway died before the end was written. */
  readonly end: object | undefined;
}

/** A written entry, as it is read again. */
export interface WrittenEntry {
  /** Records that were complete with this entry since the journal was opened. */
  readonly place: number;
  /** When it was written, milliseconds since 1970. */
  readonly at: number;
  readonly entry: JournalEntry;
}

/** A checksum tells damage; it does not tell what another program wrote. */
export function isWritten(value: unknown): value is [place: number, at: number, entry: JournalEntry] {
  if (!Array.isArray(value)) return false;
  const [place, at, entry] = value as unknown[];
  if (typeof place !== 'number' || typeof at !== 'number' || !isObject(entry)) return false;
  const { id, start = {}, end = {} } = entry as Partial<JournalEntry>;
  return typeof id === 'string' && isObject(start) && isObject(end);
}
