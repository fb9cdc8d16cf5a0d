import type { BeforeApplicationShutdown } from '@nestjs/common';
import { CallerSlots } from '../common/caller-slots.js';
import { Problem } from '../common/errors.js';
import type { Lifecycle } from '../common/lifecycle.js';
import { type Following, SseStream } from './sse.js';

/** Pause after which a caller over the limit may try again. */
const retryAfterMs = 10_000;
/** Max heartbeats that a client may leave unread before it is disconnected. */
const maxUnread = 4;
/** Name of the streams of console pages. They have a limit per caller, but do not count for the limit of all callers. */
export const pageStreams = 'streams of pages';
/** Max streams of console pages per caller. */
const maxPages = 100;

/** Limits the number of open streams, and ends them when the server stops. */
export class OpenStreams implements BeforeApplicationShutdown {
  private readonly open = new Set<Pick<SseStream<never>, 'finish'>>();
  private readonly slots: CallerSlots;
  private readonly pageSlots = new CallerSlots(maxPages);

  constructor(
    private readonly limits: Readonly<Record<'maxStreams' | 'maxStreamsOfAll' | 'heartbeatMs', number>>,
    private readonly lifecycle: Lifecycle,
  ) {
    this.slots = new CallerSlots(limits.maxStreams, limits.maxStreamsOfAll);
    // Streams do not end by themselves, so the shutdown would wait for them until its timeout.
    lifecycle.drainSignal.addEventListener('abort', () => this.endAll(), { once: true });
  }

  /**
   * Takes a slot for a stream that does not use `follow`.
   * @param what kind of streams, in the plural; each kind has its own limit per caller
   * @throws Problem `rate_limited` over the limit
   */
  take(what: string, caller: string): () => void {
    const slots = what === pageStreams ? this.pageSlots : this.slots;
    return slots.claim(`${what} ${caller}`, what, retryAfterMs);
  }

  /** Opens a stream. @throws Problem `rate_limited` over the limit, `shutting_down` if the server stops */
  follow<Entry extends object>(
    what: string,
    caller: string,
    followings: Following<Entry> | readonly Following<Entry>[],
    greeting?: string,
  ): SseStream<Entry> {
    if (this.lifecycle.state === 'draining') throw new Problem('shutting_down', 'The server is stopping');
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
