import { TypedEvents } from '../common/typed-events.js';

/** An entry with the id of its place in the ring: opaque, sorts nothing. */
export type Placed<Entry> = Entry & { readonly id: string };

interface Kept<Entry> {
  readonly entry: Placed<Entry>;
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
  /** Notified after each entry, and once when the ring is closed. */
  readonly news = new TypedEvents<'entry' | 'closed'>(() => undefined);
  closed = false;

  constructor(
    private readonly limits: { readonly maxEntries: number; readonly maxBytes: number },
    /** Tells the ids of this ring from those of an earlier one: numbers begin anew after a restart. */
    private readonly epoch = Date.now().toString(36),
  ) {}

  /** Number of entries that were ever written: the place after the latest. */
  get end(): number {
    return this.written;
  }

  /** An entry that has an id keeps it: it is of an earlier ring. */
  append(entry: Entry | Placed<Entry>): Placed<Entry> {
    const stored = { id: `${this.epoch}-${++this.written}`, ...entry };
    const bytes = Buffer.byteLength(JSON.stringify(stored));
    this.kept.push({ entry: stored, bytes });
    this.bytes += bytes;
    while (
      this.kept.length > this.limits.maxEntries ||
      (this.bytes > this.limits.maxBytes && this.kept.length > 1)
    ) {
      this.bytes -= this.kept.shift()?.bytes ?? 0;
    }
    this.news.emit('entry');
    return stored;
  }

  /** The entry at a place counted from 0; where it had to make room, the oldest one that is kept. */
  from(
    place: number,
  ): { readonly entry: Placed<Entry>; readonly next: number; readonly missed: number } | undefined {
    const first = this.written - this.kept.length;
    const at = Math.max(place, first);
    const kept = this.kept[at - first];
    return kept && { entry: kept.entry, next: at + 1, missed: at - place };
  }

  /** @returns the place after the entry of this id; that of the oldest entry for an id that is not of this ring */
  placeAfter(id: string): number {
    return this.numberOf(id) ?? this.written - this.kept.length;
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
    const first = this.written - this.kept.length;
    const asked = since === undefined ? Math.max(first, this.written - limit) : this.placeAfter(since);
    const start = Math.max(first, asked) - first;
    const entries = this.kept.slice(start, start + limit).map(({ entry }) => entry);
    const last =
      entries.at(-1)?.id ?? (this.written > 0 ? `${this.epoch}-${Math.max(asked, first)}` : undefined);
    return { entries, last, missed: Math.max(0, first - asked) };
  }

  /** Closes the ring and notifies its followers. */
  close(): void {
    this.closed = true;
    this.news.emit('closed');
  }

  private numberOf(id: string): number | undefined {
    const [, epoch, number] = /^([a-z0-9]+)-(\d{1,15})$/.exec(id) ?? [];
    if (epoch === this.epoch && Number(number) <= this.written) return Number(number);
    const at = this.kept.findIndex(({ entry }) => entry.id === id);
    return at < 0 ? undefined : this.written - this.kept.length + at + 1;
  }
}
