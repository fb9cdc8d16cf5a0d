import { encodeLine, type JournalEntry } from '../../src/records/journal/journal-entry.js';

/** One line of a journal, its line feed included. @param place records that are complete with it */
export const journalLine = (entry: JournalEntry, place = 0, at = 1_005): string =>
  encodeLine(place, at, JSON.stringify(entry));

/** A line for each entry, placed as a gateway does that has just started. */
export function journalText(entries: readonly JournalEntry[]): string {
  let place = 0;
  return entries.map((entry) => journalLine(entry, entry.end ? ++place : place)).join('');
}
