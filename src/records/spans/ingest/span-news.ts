import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { EventRing } from '../../../base/streams/event-ring.js';
import { StreamTopics } from '../../../base/streams/stream-topics.js';
import { SpanIngest } from './span-ingest.js';

/** Spans of a project that this server took within half a second. */
interface SpansCame {
  readonly project: string;
  readonly spans: number;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
}

interface Followed {
  readonly ring: EventRing<SpansCame>;
  /** Accepted but not announced yet. */
  waiting: number;
}

const everyMs = 500;
/** One who lost its connection learns that something came, not each time that it did. */
const limits = { maxEntries: 100, maxBytes: 65_536 };
const maxProjects = 1_000;

/** Notifies pages that follow a project of new spans, at most twice a second. */
@Injectable()
export class SpanNews {
  private readonly followed = new LRUCache<string, Followed>({
    max: maxProjects,
    dispose: ({ ring }) => ring.close(),
  });

  constructor(topics: StreamTopics, { batches }: SpanIngest) {
    batches.subscribe(({ project, spans }) => this.came(project, spans));
    topics.add('spans', {
      scope: 'traces:read',
      earlier: 0,
      ofProject: true,
      eventName: () => 'spans',
      ring: (project = '') => this.ringOf(project),
    });
  }

  private came(project: string, spans: number): void {
    const followed = this.followed.get(project);
    if (!followed || spans === 0) return;
    if (followed.waiting === 0) setTimeout(() => this.tell(project, followed), everyMs).unref();
    followed.waiting += spans;
  }

  private tell(project: string, followed: Followed): void {
    followed.ring.append({ project, spans: followed.waiting, timestamp: new Date().toISOString() });
    followed.waiting = 0;
  }

  private ringOf(project: string): EventRing<SpansCame> {
    const followed = this.followed.get(project) ?? { ring: new EventRing(limits), waiting: 0 };
    this.followed.set(project, followed);
    return followed.ring;
  }
}
