import { TypedEvents } from '../common/typed-events.js';

/** An entry with its id in the ring, which is opaque and not sortable. */
export type Placed<Entry> = Entry & { readonly id: string };

/** A stored entry with its number in the ring. */
interface Stored<Entry> {
  readonly entry: Placed<Entry>;
  readonly number: number;
  readonly bytes: number;
}

/** A page of a ring. */
interface RingSlice<Entry> {
  /** Oldest first. */
  readonly entries: Placed<Entry>[];
  /** The id after which the next page begins; undefined if the ring never had an entry. */
  readonly last: string | undefined;
  /** Number of dropped entries after the requested place. */
  readonly missed: number;
}

/**
 * The latest entries of a log or of events, limited by number and bytes. Entries are numbered from 1. A place is a position
 * between entries: place 0 is before the first entry, and place n after the entry with number n.
 */
export class EventRing<Entry extends object> {
  private stored: Stored<Entry>[] = [];
  /** Bytes of the stored entries as JSON. */
  private bytes = 0;
  /** Number of the latest entry; 0 before the first. */
  private written = 0;
  /** The place before the oldest stored entry. */
  private start = 0;
  /** Emits after each entry, and once when the ring is closed. */
  readonly news = new TypedEvents<'entry' | 'closed'>(() => undefined);
  /** Whether the ring gets no more entries. */
  closed = false;

  constructor(
    private readonly limits: { readonly maxEntries: number; readonly maxBytes: number },
    /** Distinguishes the ids of this ring from those before a restart, when numbers begin again. */
    private readonly epoch = Date.now().toString(36),
  ) {}

  /** The place after the latest entry, equal to its number. */
  get end(): number {
    return this.written;
  }

  /** Appends an entry; one of an earlier ring keeps its id. @param number larger than that of the last entry; gaps are fine */
  append(entry: Entry | Placed<Entry>, number = this.written + 1): Placed<Entry> {
    this.written = number;
    const placed = { id: `${this.epoch}-${number}`, ...entry };
    const bytes = Buffer.byteLength(JSON.stringify(placed));
    if (this.stored.length === 0) this.start = number - 1;
    this.stored.push({ entry: placed, number, bytes });
    this.bytes += bytes;
    while (this.isTooLarge()) {
      const dropped = this.stored.shift();
      this.bytes -= dropped?.bytes ?? 0;
      this.start = dropped?.number ?? 0;
    }
    this.news.emit('entry');
    return placed;
  }

  /** The entry after a place; if it was dropped, the oldest stored one. */
  from(place: number): { entry: Placed<Entry>; next: number; missed: number } | undefined {
    const stored = this.stored[this.indexAfter(place)];
    return stored && { entry: stored.entry, next: stored.number, missed: Math.max(0, this.start - place) };
  }

  /** The place after the entry with this id, or with one of several joined by commas; the ring's start if none is known. */
  placeAfter(id: string): number {
    return this.numberOf(id) ?? this.start;
  }

  /** The id before a place. */
  idBefore(place: number): string {
    return `${this.epoch}-${place}`;
  }

  /** Whether an entry of this ring has or had the id. */
  knows(id: string): boolean {
    return this.numberOf(id) !== undefined;
  }

  /** The latest entries, oldest first; with `since` the next ones after that id. */
  slice(limit: number, since?: string): RingSlice<Entry> {
    // The place before the last `limit` entries, or before all if there are fewer.
    const latest = (this.stored.at(-limit)?.number ?? this.start + 1) - 1;
    const requested = since === undefined ? latest : this.placeAfter(since);
    const at = this.indexAfter(requested);
    const entries = this.stored.slice(at, at + limit).map(({ entry }) => entry);
    const place = Math.max(requested, this.start);
    const last = entries.at(-1)?.id ?? (this.written > 0 ? this.idBefore(place) : undefined);
    return { entries, last, missed: Math.max(0, this.start - requested) };
  }

  /** Closes the ring and notifies its followers. */
  close(): void {
    this.closed = true;
    this.news.emit('closed');
  }

  /** Whether an entry has to be dropped. The latest one is kept however large it is. */
  private isTooLarge(): boolean {
    const { maxEntries, maxBytes } = this.limits;
    return this.stored.length > maxEntries || (this.bytes > maxBytes && this.stored.length > 1);
  }

  /** The number of the entry with an id, or with one of several ids; undefined if it is not known. */
  private numberOf(id: string): number | undefined {
    const [, number] = new RegExp(`(?:^|,)${this.epoch}-(\\d{1,15})(?:,|$)`).exec(id) ?? [];
    if (number !== undefined && Number(number) <= this.written) return Number(number);
    return this.stored.find(({ entry }) => entry.id === id)?.number;
  }

  /** The index of the first entry after a place. Gaps in the numbers are rare, so the search is short. */
  private indexAfter(place: number): number {
    let at = Math.max(0, Math.min(this.stored.length, place - this.start));
    while (at > 0 && (this.stored[at - 1]?.number ?? 0) > place) at -= 1;
    return at;
  }
}
