import { encodeEntry, type JournalEntry } from '../../src/tool-metrics/journal/journal-entry.js';
import { LineEncoder } from '../../src/tool-metrics/journal/journal-line.js';

/** One line of a journal, its line feed included, as the gateway writes what comes together. */
export const journalLine = (...entries: readonly JournalEntry[]): string =>
  new LineEncoder().encode(entries.map(encodeEntry)).toString();

/** A line for each entry. */
export const journalText = (entries: readonly JournalEntry[]): string =>
  entries.map((entry) => journalLine(entry)).join('');
