import type { Placed } from '../../streams/event-ring.js';
import type { LogEntry } from './tool-logs.js';

export interface LogPage {
  /** Oldest first. */
  readonly data: Placed<LogEntry>[];
  /** Ids of the places in the replicas' logs after which the next page begins, separated by commas. */
  readonly nextSince: string | null;
  readonly missed: number;
}

/** The part of an id that all ids of one replica's log share. */
const logOf = (id: string): string => id.split('-', 1)[0] ?? '';

/**
 * The pages of replicas as one: the next lines with `since`, else the latest ones.
 * @param keepsPlaces keeps the places of logs that have no page, because their replicas did not answer
 */
export function mergedPage(
  pages: readonly LogPage[],
  { limit, since, keepsPlaces }: { limit: number; since: readonly string[]; keepsPlaces: boolean },
): LogPage {
  const all = pages.flatMap(({ data }) => data).sort((a, b) => a.timestamp.localeCompare(b.timestamp));
  const goesOn = since.length > 0;
  const data = goesOn ? all.slice(0, limit) : all.slice(-limit);
  const taken = new Set(data);
  const before = new Map(since.map((id) => [logOf(id), id]));
  const places = new Map(keepsPlaces ? before : []);
  for (const page of pages) {
    const last = page.data.findLast((entry) => taken.has(entry))?.id;
    const [first] = page.data;
    // Lines that are left out here come next; lines before the latest do not.
    const rest = goesOn && first ? before.get(logOf(first.id)) : page.nextSince;
    const place = last ?? rest;
    if (place) places.set(logOf(place), place);
  }
  const nextSince = [...places.values()].join(',') || null;
  return { data, nextSince, missed: pages.reduce((sum, { missed }) => sum + missed, 0) };
}
