import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { EventRing, Placed } from './event-ring.js';

/**
 * Headers of a stream of server-sent events. The connection closes with the stream, because an idle one would delay the
 * server's shutdown until its keep-alive timeout. `x-accel-buffering` stops nginx from buffering the stream.
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

/** Formats an event. JSON has no raw line breaks, so one `data` line is enough. */
export function sseEvent({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

/** A comment, which clients ignore. It keeps proxies from closing an idle stream and detects disconnected clients. */
export const sseHeartbeat = ': still here\n\n';

/** A comment with a text, which must have no line breaks. */
export const sseComment = (text: string): string => `: ${text}\n\n`;

/** Media types in an Accept header. Group 1: their parameters. */
const eventStream = /(?:^|,)\s*text\/event-stream\s*(?:;([^,]*))?(?=,|$)/i;
const json = /(?:^|,)\s*application\/json\s*(?:;([^,]*))?(?=,|$)/i;

/**
 * Whether a client prefers events: its Accept header names them (a wildcard does not count), and does not prefer JSON by a
 * higher weight or, with the same weight, by its order.
 */
export function acceptsEvents({ accept }: Pick<IncomingHttpHeaders, 'accept'>): boolean {
  const events = accept === undefined ? null : eventStream.exec(accept);
  if (!accept || !events || weightOf(events) === 0) return false;
  const other = json.exec(accept);
  const lead = weightOf(events) - (other ? weightOf(other) : 0);
  return lead > 0 || (lead === 0 && events.index < (other?.index ?? Infinity));
}

/** The weight of a media type, 0 to 1: its parameter `q`. */
function weightOf([, parameters = '']: RegExpExecArray): number {
  const weight = /(?:^|;)\s*q=([^;]*)/i.exec(parameters)?.[1];
  return weight === undefined ? 1 : Number(weight) || 0;
}

/** The id after which a stream resumes: the header's, which browsers send after a break, or else the query's. */
export const lastSeenId = (headers: IncomingHttpHeaders, since: string | undefined): string | undefined => {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : since;
};

/** Max bytes buffered for a slow client; later entries wait in the ring or are missed. */
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

/** Options of a stream. */
export interface Reading {
  /** Text at the start of the stream. Default: a heartbeat. */
  readonly greeting?: string | undefined;
  /** Max heartbeats that a client may leave unread before it is disconnected. Absent: no limit. */
  readonly maxUnread?: number;
}

const missedEvent = (entries: number): ServerSentEvent => ({ event: 'missed', data: { entries } });

/** A followed ring, with the stream's position in it. */
interface Followed<Entry extends object> extends Omit<Following<Entry>, 'place'> {
  place: number;
  /** Position up to which entries are sent before the last event. */
  end: number;
  stopListening: () => void;
}

/**
 * Streams rings to one client as server-sent events: first stored entries, then new ones. The stream has a position in each
 * ring and no queue, so a slow client costs no more than a fast one: it misses entries, but never the last event. Comments
 * keep an idle connection open.
 */
export class SseStream<Entry extends object> extends Readable {
  private followed: readonly Followed<Entry>[];
  /** Index of the ring from which the next entry is taken first. */
  private turn = 0;
  /** Whether the stream's reader takes more text now. */
  private wanted = false;
  /** Heartbeats since the reader last took text. */
  private unread = 0;
  /** The text of the last event; undefined until `finish`. */
  private lastText: string | undefined;
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
    // Sent at once, so that the client and proxies see that the stream has begun.
    this.push(greeting);
  }

  /** Sends all entries until now, then this event, and ends. Later entries are not sent. */
  finish(event: ServerSentEvent): void {
    if (this.lastText === undefined) {
      this.lastText = sseEvent(event);
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
    followed.stopListening = following.ring.news.subscribe((news) =>
      news === 'closed' ? this.ringClosed(followed) : this.fill(),
    );
    return followed;
  }

  /** Ends the stream, or continues it without this ring. */
  private ringClosed(followed: Followed<Entry>): void {
    const { closedEvent } = followed;
    if (!closedEvent) return this.finish({ event: 'end', data: { reason: 'removed' } });
    followed.stopListening();
    this.followed = this.followed.filter((each) => each !== followed);
    this.wanted = this.push(sseEvent(closedEvent));
  }

  /** Sends texts while the reader takes them; after the last entry, the last event. */
  private fill(): void {
    while (this.wanted) {
      const text = this.nextText();
      if (text === undefined) break;
      if (text !== '') this.wanted = this.push(text);
    }
    const isRead = this.followed.every(({ place, end }) => place >= end);
    if (this.wanted && this.lastText !== undefined && isRead) this.end(this.lastText);
  }

  /** The next text to send; undefined if there is none now, empty for an entry that is filtered out. */
  private nextText(): string | undefined {
    for (let n = 0; n < this.followed.length; n++) {
      // Rings take turns, so that a busy one does not block the others.
      const turn = (this.turn + n) % this.followed.length;
      const followed = this.followed[turn];
      const upcoming = followed && followed.place < followed.end && followed.ring.from(followed.place);
      if (!upcoming) continue;
      this.turn = turn + 1;
      const { entry, next, missed } = upcoming;
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

  /** Sends a heartbeat, or disconnects a client that leaves too many unread. */
  private beat(): void {
    if (this.wanted) this.wanted = this.push(sseHeartbeat);
    else if (++this.unread >= this.maxUnread) this.destroy();
  }

  /** Stops following the rings. */
  private release(): void {
    this.wanted = false;
    for (const { stopListening } of this.followed) stopListening();
    clearInterval(this.timer);
  }
}
