import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import type { Lifecycle } from '../common/lifecycle.js';
import { type Following, SseStream } from './sse.js';

/** Heartbeats that a client of an endless stream may leave unread before it is let go. */
const maxUnread = 4;

/** The clients that follow something without an end: a limited number at a time, and none once the server stops. */
export class OpenStreams implements BeforeApplicationShutdown {
  private readonly open = new Map<Pick<SseStream<never>, 'finish'>, string>();

  constructor(
    private readonly limits: { readonly maxStreams: number; readonly heartbeatMs: number },
    private readonly lifecycle: Lifecycle,
  ) {
    // A stream never ends by itself: the drain would wait for it until its time is up.
    lifecycle.draining.addEventListener('abort', () => this.endAll(), { once: true });
  }

  /**
   * @param what the word for the followed things in messages, in the plural; the limit holds for each of them
   * @throws Problem `rate_limited` over the limit, `shutting_down` if the server stops
   */
  follow<Entry extends object>(
    what: string,
    followings: Following<Entry> | readonly Following<Entry>[],
    greeting?: string,
  ): SseStream<Entry> {
    const { maxStreams, heartbeatMs } = this.limits;
    if (this.lifecycle.isDraining()) throw new Problem('shutting_down', 'The server is stopping');
    if ([...this.open.values()].filter((each) => each === what).length >= maxStreams) {
      const detail = `${maxStreams} clients follow ${what} already`;
      throw new Problem('rate_limited', detail, { retryAfterMs: 10_000 });
    }
    const stream = new SseStream(followings, { greeting, maxUnread }, heartbeatMs);
    this.open.set(stream, what);
    stream.once('close', () => this.open.delete(stream));
    return stream;
  }

  beforeApplicationShutdown(): void {
    this.endAll();
  }

  private endAll(): void {
    for (const stream of this.open.keys()) stream.finish({ event: 'end', data: { reason: 'shutting_down' } });
  }
}
