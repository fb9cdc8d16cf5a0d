import { Readable } from 'node:stream';
import type { EventRing, Placed } from './event-ring.js';
import { sseEvent, sseHeartbeat } from './sse.js';

/** Bytes that wait for a client that reads slowly; what comes meanwhile waits in the ring, or is missed. */
const maxWaitingBytes = 65_536;
/** Heartbeats that a client may leave unread before it is let go. */
const patience = 4;

/** What a client follows of a ring, and how it reads. */
export interface Following<Entry> {
  /** Counted from 0. */
  readonly place: number;
  /** The name of an entry's event. */
  readonly nameOf: (entry: Entry) => string;
  /** Absent: all of them. */
  readonly wants?: (entry: Placed<Entry>) => boolean;
  /** An event to begin with. */
  readonly greeting?: string;
}

/**
 * A ring as server-sent events, for one client: first what it asked for, then what comes. The stream keeps a place in
 * the ring and no queue of its own, so that a slow client costs no more than a fast one.
 */
export class RingStream<Entry extends object> extends Readable {
  private place: number;
  private wanted = false;
  private unread = 0;
  private readonly stopListening: () => void;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly ring: EventRing<Entry>,
    private readonly following: Following<Entry>,
    heartbeatMs: number,
  ) {
    super({ highWaterMark: maxWaitingBytes });
    this.place = following.place;
    this.stopListening = ring.news.subscribe((what) =>
      what === 'closed' ? this.finish('removed') : this.fill(),
    );
    this.timer = setInterval(() => this.beat(), heartbeatMs).unref();
    // Tells the client, and proxies on the way, at once that there is a stream.
    this.push(`${sseHeartbeat}${following.greeting ?? ''}`);
  }

  /** Says why and ends: at shutdown, or because what is followed is gone. */
  finish(reason: 'shutting_down' | 'removed'): void {
    if (this.readableEnded || this.destroyed) return;
    this.release();
    this.push(sseEvent({ event: 'end', data: { reason } }));
    this.push(null);
  }

  override _read(): void {
    this.wanted = true;
    this.unread = 0;
    this.fill();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.release();
    done(error);
  }

  private fill(): void {
    while (this.wanted) {
      const found = this.ring.from(this.place);
      if (!found) return;
      const { entry, next, missed } = found;
      this.place = next;
      const gap = missed > 0 ? sseEvent({ event: 'missed', data: { entries: missed } }) : '';
      const { nameOf, wants } = this.following;
      const text =
        wants?.(entry) === false ? '' : sseEvent({ id: entry.id, event: nameOf(entry), data: entry });
      if (gap || text) this.wanted = this.push(`${gap}${text}`);
    }
  }

  private beat(): void {
    if (this.wanted) this.wanted = this.push(sseHeartbeat);
    else if (++this.unread >= patience) this.destroy();
  }

  private release(): void {
    this.wanted = false;
    this.stopListening();
    clearInterval(this.timer);
  }
}
