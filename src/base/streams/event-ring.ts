import { TypedEvents } from '../common/typed-events.js';

/** An entry with the id of its place in the ring: opaque, sorts nothing. */
export type Placed<Entry> = Entry & { readonly id: string };

interface Kept<Entry> {
  readonly entry: Placed<Entry>;
  readonly number: number;
  readonly bytes: number;
}

/** A page of a ring. */
export interface RingSlice<Entry> {
  /** Oldest first. */
  readonly entries: Placed<Entry>[];
  /** The id after which the next page begins; undefined: nothing was ever written. */
  readonly last: string | undefined;
  /** Entries between the asked place and the first one that had to make room. */
  readonly missed: number;
}

/** The latest entries of a log or of what happened, bounded by their number and their bytes. */
export class EventRing<Entry extends object> {
  private kept: Kept<Entry>[] = [];
  private bytes = 0;
  private written = 0;
  /** The place before the oldest entry that is kept. */
  private start = 0;
  /** Notified after each entry, and once when the ring is closed. */
  readonly news = new TypedEvents<'entry' | 'closed'>(() => undefined);
  closed = false;

  constructor(
    private readonly limits: { readonly maxEntries: number; readonly maxBytes: number },
    /** Tells the ids of this ring from those of an earlier one: numbers restart after a restart of the server. */
    private readonly epoch = Date.now().toString(36),
  ) {}

  /** Number of the latest entry: the place after it. */
  get end(): number {
    return this.written;
  }

  /**
   * An entry that has an id keeps it: it is of an earlier ring.
   * @param number larger than that of the entry before; numbers may be left out
   */
  append(entry: Entry | Placed<Entry>, number = this.written + 1): Placed<Entry> {
    this.written = number;
    const stored = { id: `${this.epoch}-${number}`, ...entry };
    const bytes = Buffer.byteLength(JSON.stringify(stored));
    if (this.kept.length === 0) this.start = number - 1;
    this.kept.push({ entry: stored, number, bytes });
    this.bytes += bytes;
    while (
      this.kept.length > this.limits.maxEntries ||
      (this.bytes > this.limits.maxBytes && this.kept.length > 1)
    ) {
      const dropped = this.kept.shift();
      this.bytes -= dropped?.bytes ?? 0;
      this.start = dropped?.number ?? 0;
    }
    this.news.emit('entry');
    return stored;
  }

  /** The entry after a place; if it had to make room, the oldest one that is kept. */
  from(
    place: number,
  ): { readonly entry: Placed<Entry>; readonly next: number; readonly missed: number } | undefined {
    const kept = this.kept[this.indexAfter(place)];
    return kept && { entry: kept.entry, next: kept.number, missed: Math.max(0, this.start - place) };
  }

  /** @returns the place after the entry of this id, or of that one of several; the oldest entry's if none is of this ring */
  placeAfter(id: string): number {
    return this.numberOf(id) ?? this.start;
  }

  /** The id after which that place comes. */
  idBefore(place: number): string {
    return `${this.epoch}-${place}`;
  }

  /** Whether an entry of this ring has or had the id. */
  knows(id: string): boolean {
    return this.numberOf(id) !== undefined;
  }

  /** The latest entries, or with `since` those that come next. */
  slice(limit: number, since?: string): RingSlice<Entry> {
    const latest = this.kept.at(-limit)?.number;
    const asked = since === undefined ? (latest ?? this.start + 1) - 1 : this.placeAfter(since);
    const at = this.indexAfter(asked);
    const entries = this.kept.slice(at, at + limit).map(({ entry }) => entry);
    const place = Math.max(asked, this.start);
    const last = entries.at(-1)?.id ?? (this.written > 0 ? this.idBefore(place) : undefined);
    return { entries, last, missed: Math.max(0, this.start - asked) };
  }

  /** Closes the ring and notifies its followers. */
  close(): void {
    this.closed = true;
    this.news.emit('closed');
  }

  private numberOf(id: string): number | undefined {
    const [, number] = new RegExp(`(?:^|,)${this.epoch}-(\\d{1,15})(?:,|$)`).exec(id) ?? [];
    if (number !== undefined && Number(number) <= this.written) return Number(number);
    return this.kept.find(({ entry }) => entry.id === id)?.number;
  }

  /** Numbers are left out rarely: the entry is there, or not far before. */
  private indexAfter(place: number): number {
    let at = Math.max(0, Math.min(this.kept.length, place - this.start));
    while (at > 0 && (this.kept[at - 1]?.number ?? 0) > place) at -= 1;
    return at;
  }
}
