import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { EventRing, Placed } from './event-ring.js';

/**
 * Headers of a stream of server-sent events. Its connection ends with it: one that became idle while the server closes
 * would hold that up until its keep-alive time is over. The last keeps nginx from collecting the stream.
 */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  connection: 'close',
  'x-accel-buffering': 'no',
};

export interface ServerSentEvent {
  /** The id that the client sends back as Last-Event-ID; without line breaks. */
  readonly id?: string;
  /** Name that the client listens for; without line breaks. */
  readonly event?: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** One event on the wire. JSON holds no raw line break, so one `data` line always does. */
export function sseEvent({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

/** A comment, which clients skip: it keeps proxies from closing a quiet stream, and finds the clients that have left. */
export const sseHeartbeat = ': still here\n\n';

/** A comment with a text of its own; without line breaks. */
export const sseComment = (text: string): string => `: ${text}\n\n`;

const eventStream = 'text/event-stream';

/**
 * Whether a client asks for events: it names them in its Accept header (a wildcard is no wish for a stream), and JSON
 * neither with a higher weight nor with the same weight before them.
 */
export function acceptsEvents({ accept }: Pick<IncomingHttpHeaders, 'accept'>): boolean {
  if (!accept || !/text\/event-stream/i.test(accept)) return false;
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { type, weight: weight === undefined ? 1 : Number(weight) || 0 };
  });
  const best = ranges
    .filter(({ type, weight }) => weight > 0 && (type === eventStream || type === 'application/json'))
    .sort((a, b) => b.weight - a.weight)[0];
  return best?.type === eventStream;
}

/** The id after which a client goes on: that of its header, which a browser sends after a break, else that of its query. */
export const lastSeenId = (headers: IncomingHttpHeaders, since: string | undefined): string | undefined => {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : since;
};

/** Maximum bytes buffered for a slow client; later entries wait in the ring or are missed. */
const maxWaitingBytes = 65_536;

/** A ring followed by a client, with an optional filter. */
export interface Following<Entry extends object> {
  readonly ring: EventRing<Entry>;
  /** Position of the first entry, from 0. */
  readonly place: number;
  /** Formats an entry; undefined for one that the client does not want. */
  eventOf(entry: Placed<Entry>): ServerSentEvent | undefined;
  /** Formats the notice that `entries` entries were dropped unread. Default: an event `missed`. */
  readonly missedEvent?: (entries: number) => ServerSentEvent;
  /** The event for a closed ring on a stream that continues. Absent: the stream ends. */
  readonly closedEvent?: ServerSentEvent;
}

/** Options of a client's stream. */
export interface Reading {
  /** Initial text. Default: a comment. */
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

  /** @returns undefined if nothing is left to send for now; empty for an entry that is filtered out */
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
