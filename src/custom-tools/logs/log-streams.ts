import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Problem } from '../../common/errors.js';
import { Lifecycle } from '../../common/lifecycle.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { LogRing } from './log-ring.js';
import { LogStream } from './log-stream.js';

/** The clients that follow logs: so many at a time, and none any more once the server stops. */
@Injectable()
export class LogStreams implements BeforeApplicationShutdown {
  private readonly open = new Set<LogStream>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'toolLogs' | 'server'>,
    private readonly lifecycle: Lifecycle,
  ) {
    // A stream never ends by itself: the drain would wait for it until its time is up.
    lifecycle.draining.addEventListener('abort', () => this.endAll(), { once: true });
  }

  /** @throws Problem `rate_limited` over CUSTOM_TOOLS_LOG_STREAMS, `shutting_down` when the server stops */
  follow(ring: LogRing, place: number): LogStream {
    const { maxStreams } = this.config.toolLogs;
    if (this.lifecycle.isDraining()) throw new Problem('shutting_down', 'The server is stopping');
    if (this.open.size >= maxStreams) {
      const detail = `${maxStreams} clients follow logs already (CUSTOM_TOOLS_LOG_STREAMS)`;
      throw new Problem('rate_limited', detail, { retryAfterMs: 10_000 });
    }
    const stream = new LogStream(ring, place, this.config.server.sseHeartbeatMs);
    this.open.add(stream);
    stream.once('close', () => this.open.delete(stream));
    return stream;
  }

  beforeApplicationShutdown(): void {
    this.endAll();
  }

  private endAll(): void {
    for (const stream of this.open) stream.finish('shutting_down');
  }
}
