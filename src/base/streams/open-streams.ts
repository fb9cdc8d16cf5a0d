import type { BeforeApplicationShutdown } from '@nestjs/common';
import { CallerSlots } from '../common/caller-slots.js';
import { Problem } from '../common/errors.js';
import type { Lifecycle } from '../common/lifecycle.js';
import { type Following, SseStream } from './sse.js';

/** Heartbeats that a client of an endless stream may leave unread before it is let go. */
const maxUnread = 4;
/** Their streams are not part of the sum, which other callers can use up. A caller has at most so many pages. */
export const pages = 'streams of pages';
const maxPages = 100;

/** The clients that follow something without an end: a limited number at a time, and none once the server stops. */
export class OpenStreams implements BeforeApplicationShutdown {
  private readonly open = new Set<Pick<SseStream<never>, 'finish'>>();
  private readonly slots: CallerSlots;
  private readonly pages = new CallerSlots(maxPages);

  constructor(
    private readonly limits: Readonly<Record<'maxStreams' | 'maxStreamsOfAll' | 'heartbeatMs', number>>,
    private readonly lifecycle: Lifecycle,
  ) {
    this.slots = new CallerSlots(limits.maxStreams, limits.maxStreamsOfAll);
    // A stream never ends by itself: the drain would wait for it until its time is up.
    lifecycle.draining.addEventListener('abort', () => this.endAll(), { once: true });
  }

  /**
   * Takes a slot for what is followed by other means than `follow`.
   * @param what the followed things, in the plural; a caller has a limit for each of them
   * @throws Problem `rate_limited` over the limit
   */
  take(what: string, caller: string): () => void {
    return (what === pages ? this.pages : this.slots).claim(`${what} ${caller}`, what, 10_000);
  }

  /** @throws Problem `rate_limited` over the limit, `shutting_down` if the server stops */
  follow<Entry extends object>(
    what: string,
    caller: string,
    followings: Following<Entry> | readonly Following<Entry>[],
    greeting?: string,
  ): SseStream<Entry> {
    if (this.lifecycle.isDraining()) throw new Problem('shutting_down', 'The server is stopping');
    const release = this.take(what, caller);
    const stream = new SseStream(followings, { greeting, maxUnread }, this.limits.heartbeatMs);
    this.open.add(stream);
    stream.once('close', () => {
      this.open.delete(stream);
      release();
    });
    return stream;
  }

  beforeApplicationShutdown(): void {
    this.endAll();
  }

  private endAll(): void {
    for (const stream of this.open) stream.finish({ event: 'end', data: { reason: 'shutting_down' } });
  }
}
