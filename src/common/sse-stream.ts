import { Readable } from 'node:stream';
import type { EventRing, Placed } from './event-ring.js';
import { type ServerSentEvent, sseEvent, sseHeartbeat } from './sse.js';

/** Bytes that wait for a client that reads slowly; what comes meanwhile waits in the ring, or is missed. */
const maxWaitingBytes = 65_536;

/** The part of a ring that a client follows, and how the client reads it. */
export interface Following<Entry> {
  /** Where to begin, counted from 0. */
  readonly place: number;
  /** undefined: an entry that the client does not want. */
  readonly eventOf: (entry: Placed<Entry>) => ServerSentEvent | undefined;
  /** Says that so many entries had to make room before they were read. Absent: an event `missed`. */
  readonly missedEvent?: (entries: number) => ServerSentEvent;
  /** Text to begin with. Absent: a comment. */
  readonly greeting?: string | undefined;
  /** Heartbeats that a client may leave unread before it is let go; absent: any number. */
  readonly patience?: number;
}

const missedEvent = (entries: number): ServerSentEvent => ({ event: 'missed', data: { entries } });

/**
 * A ring as server-sent events, for one client: first what it asked for, then what comes. The stream keeps a place in
 * the ring and no queue of its own, so that a slow client costs no more than a fast one: it loses entries, never the
 * last event. Comments keep a quiet connection open.
 */
export class SseStream<Entry extends object> extends Readable {
  private place: number;
  private wanted = false;
  private unread = 0;
  /** The last event, which follows the entries before a place in the ring. */
  private last: { readonly text: string; readonly place: number } | undefined;
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
      what === 'closed' ? this.finish({ event: 'end', data: { reason: 'removed' } }) : this.fill(),
    );
    this.timer = setInterval(() => this.beat(), heartbeatMs).unref();
    // Tells the client, and proxies on the way, at once that there is a stream.
    this.push(following.greeting ?? sseHeartbeat);
  }

  /** Sends what was written until now, then this event; what is written later goes nowhere. */
  finish(event: ServerSentEvent): void {
    this.last ??= { text: sseEvent(event), place: this.ring.end };
    this.fill();
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
      if (this.last && this.place >= this.last.place) return this.end(this.last.text);
      const found = this.ring.from(this.place);
      if (!found) return;
      const { entry, next, missed } = found;
      this.place = next;
      const gap = missed > 0 ? sseEvent((this.following.missedEvent ?? missedEvent)(missed)) : '';
      const event = this.following.eventOf(entry);
      const text = event ? gap + sseEvent(event) : gap;
      if (text) this.wanted = this.push(text);
    }
  }

  private end(text: string): void {
    this.release();
    this.push(text);
    this.push(null);
  }

  private beat(): void {
    if (this.wanted) this.wanted = this.push(sseHeartbeat);
    else if (++this.unread >= (this.following.patience ?? Infinity)) this.destroy();
  }

  private release(): void {
    this.wanted = false;
    this.stopListening();
    clearInterval(this.timer);
  }
}
