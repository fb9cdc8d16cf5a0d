import { Readable } from 'node:stream';
import type { EventRing, Placed } from './event-ring.js';
import { type ServerSentEvent, sseEvent, sseHeartbeat } from './sse.js';

/** Bytes that wait for a client that reads slowly; what comes meanwhile waits in the ring, or is missed. */
const maxWaitingBytes = 65_536;

/** A ring, or the part of it that a client follows. */
export interface Following<Entry extends object> {
  readonly ring: EventRing<Entry>;
  /** Where to begin, counted from 0. */
  readonly place: number;
  /** undefined: an entry that the client does not want. */
  eventOf(entry: Placed<Entry>): ServerSentEvent | undefined;
  /** Says that so many entries had to make room before they were read. Absent: an event `missed`. */
  readonly missedEvent?: (entries: number) => ServerSentEvent;
  /** Says that nothing more will come of this ring, where the stream goes on. Absent: it ends. */
  readonly closedEvent?: ServerSentEvent;
}

/** How a client reads a stream. */
export interface Reading {
  /** Text to begin with. Absent: a comment. */
  readonly greeting?: string | undefined;
  /** Heartbeats that a client may leave unread before it is let go; absent: any number. */
  readonly maxUnread?: number;
}

const missedEvent = (entries: number): ServerSentEvent => ({ event: 'missed', data: { entries } });

interface Followed<Entry extends object> extends Omit<Following<Entry>, 'place'> {
  place: number;
  /** The place before which the stream's last event does not come. */
  end: number;
  stopListening: () => void;
}

/**
 * Rings as server-sent events, for one client: first what it asked for, then what comes. The stream keeps a place in
 * each ring and no queue of its own, so that a slow client costs no more than a fast one: it loses entries, never the
 * last event. Comments keep a quiet connection open.
 */
export class SseStream<Entry extends object> extends Readable {
  private followed: readonly Followed<Entry>[];
  private turn = 0;
  private wanted = false;
  private unread = 0;
  /** The last event. */
  private last: string | undefined;
  private readonly maxUnread: number;
  private readonly timer: NodeJS.Timeout;

  constructor(
    followings: Following<Entry> | readonly Following<Entry>[],
    { greeting = sseHeartbeat, maxUnread = Infinity }: Reading,
    heartbeatMs: number,
  ) {
    super({ highWaterMark: maxWaitingBytes });
    this.maxUnread = maxUnread;
    this.followed = [followings].flat().map((following) => this.follow(following));
    this.timer = setInterval(() => this.beat(), heartbeatMs).unref();
    // Tells the client, and proxies on the way, at once that there is a stream.
    this.push(greeting);
  }

  /** Sends what was written until now, then this event; what is written later goes nowhere. */
  finish(event: ServerSentEvent): void {
    if (this.last === undefined) {
      this.last = sseEvent(event);
      for (const followed of this.followed) followed.end = followed.ring.end;
    }
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

  private follow(following: Following<Entry>): Followed<Entry> {
    const followed: Followed<Entry> = { ...following, end: Infinity, stopListening: () => undefined };
    followed.stopListening = following.ring.news.subscribe((what) =>
      what === 'closed' ? this.ringClosed(followed) : this.fill(),
    );
    return followed;
  }

  private ringClosed(followed: Followed<Entry>): void {
    const { closedEvent } = followed;
    if (!closedEvent) return this.finish({ event: 'end', data: { reason: 'removed' } });
    followed.stopListening();
    this.followed = this.followed.filter((each) => each !== followed);
    this.wanted = this.push(sseEvent(closedEvent));
  }

  private fill(): void {
    while (this.wanted) {
      const text = this.nextText();
      if (text === undefined) break;
      if (text !== '') this.wanted = this.push(text);
    }
    const isRead = this.followed.every(({ place, end }) => place >= end);
    if (this.wanted && this.last !== undefined && isRead) this.end(this.last);
  }

  /** @returns undefined where nothing is left to send for now; empty for an entry that nobody wants */
  private nextText(): string | undefined {
    for (let n = 0; n < this.followed.length; n++) {
      // One after the other: a ring that is full of news does not hold up the others.
      const turn = (this.turn + n) % this.followed.length;
      const followed = this.followed[turn];
      const found = followed && followed.place < followed.end && followed.ring.from(followed.place);
      if (!found) continue;
      this.turn = turn + 1;
      const { entry, next, missed } = found;
      followed.place = next;
      const gap = missed > 0 ? sseEvent((followed.missedEvent ?? missedEvent)(missed)) : '';
      const event = followed.eventOf(entry);
      return event ? gap + sseEvent(event) : gap;
    }
    return undefined;
  }

  private end(text: string): void {
    this.release();
    this.push(text);
    this.push(null);
  }

  private beat(): void {
    if (this.wanted) this.wanted = this.push(sseHeartbeat);
    else if (++this.unread >= this.maxUnread) this.destroy();
  }

  private release(): void {
    this.wanted = false;
    for (const { stopListening } of this.followed) stopListening();
    clearInterval(this.timer);
  }
}
