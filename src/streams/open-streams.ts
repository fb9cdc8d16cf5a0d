import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import type { Lifecycle } from '../common/lifecycle.js';
import type { ServerSentEvent } from './sse.js';

export interface StreamLimit {
  readonly most: number;
  /** The word for the followed things in messages, in the plural. */
  readonly what: string;
}

/** Heartbeats that a client of an endless stream may leave unread before it is let go. */
export const endlessMaxUnread = 4;

export interface EndlessStream {
  finish(event: ServerSentEvent): void;
  once(event: 'close', listener: () => void): unknown;
}

/** The clients that follow something without an end: so many at a time, and none any more once the server stops. */
export class OpenStreams implements BeforeApplicationShutdown {
  private readonly open = new Set<EndlessStream>();

  constructor(
    private readonly limit: StreamLimit,
    private readonly lifecycle: Lifecycle,
  ) {
    // A stream never ends by itself: the drain would wait for it until its time is up.
    lifecycle.draining.addEventListener('abort', () => this.endAll(), { once: true });
  }

  /** @throws Problem `rate_limited` over the limit, `shutting_down` when the server stops */
  add<Stream extends EndlessStream>(make: () => Stream): Stream {
    const { most, what } = this.limit;
    if (this.lifecycle.isDraining()) throw new Problem('shutting_down', 'The server is stopping');
    if (this.open.size >= most) {
      throw new Problem('rate_limited', `${most} clients follow ${what} already`, { retryAfterMs: 10_000 });
    }
    const stream = make();
    this.open.add(stream);
    stream.once('close', () => this.open.delete(stream));
    return stream;
  }

  beforeApplicationShutdown(): void {
    this.endAll();
  }

  private endAll(): void {
    for (const stream of this.open) stream.finish({ event: 'end', data: { reason: 'shutting_down' } });
  }
}
