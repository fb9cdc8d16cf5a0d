import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { existsSync } from 'node:fs';
import { CallerSlots } from '../../../base/common/caller-slots.js';
import { endsWithin } from '../../../base/common/abortable.js';
import { Refusal } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import { TypedEvents } from '../../../base/common/typed-events.js';
import { EventRing } from '../../../base/streams/event-ring.js';
import { StreamTopics } from '../../../base/streams/stream-topics.js';
import { WorkerCalls } from '../../../base/common/worker-calls.js';
import type { JournalNews, JournalState } from '../../journal/journal.js';
import { upToDate } from '../../journal/up-to-date.interceptor.js';
import type { ReportedFailure } from './failures.js';
import type { IngestNews, IngestOrders, IngestRequest, Intake, SpanBatch } from './ingest.worker.js';

/** A batch that was taken. */
export type Taken = Omit<Extract<Intake, { taken: number }>, 'failures'>;

/** A batch of spans that is in the journal. */
interface KeptBatch {
  readonly project: string;
  /** Number of spans that were taken. */
  readonly spans: number;
  /** The word of these spans about executions. */
  readonly failures: readonly ReportedFailure[];
}

/** Bytes of bodies that wait for the thread at most: they stand in memory. */
const maxWaitingBytes = 67_108_864;
const retryAfterMs = 5_000;
const catchUpMs = 2_000;
const closeMs = 5_000;
const restart = { firstMs: 500, maxMs: 5_000 };
/** Twice what the largest batch takes. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 };
const idle: JournalState = {
  depth: 0,
  oldestMs: 0,
  bytes: 0,
  takesMore: true,
  damagedLines: 0,
  lastWriteFailureAt: 0,
};

/**
 * Spans on their way in: a thread of its own reads the bodies and writes what they hold to the spans' journal, another one
 * brings that to the database. Started by the first batch, or at the start where an earlier gateway left a journal.
 */
export class SpanIngest {
  readonly batches = new TypedEvents<KeptBatch>((error) =>
    new Logger(SpanIngest.name).error(error, 'a listener of batches failed'),
  );
  private worker: WorkerCalls<IngestRequest, Intake | undefined, IngestNews> | undefined;
  private last = { state: idle, at: Date.now() };
  /** Bytes. */
  private readonly waiting = new CallerSlots(maxWaitingBytes / 2, maxWaitingBytes);
  private closed: Promise<void> | undefined;

  constructor(
    private readonly orders: IngestOrders,
    private readonly onNews: (news: JournalNews) => void,
  ) {}

  /** How the journal keeps up, a quarter of a second ago at most. */
  state(): JournalState {
    const { state, at } = this.last;
    return state.depth === 0 ? state : { ...state, oldestMs: state.oldestMs + Date.now() - at };
  }

  /** Begins to bring to the database what an earlier gateway left. @throws Error if the journal cannot be opened */
  async open(): Promise<void> {
    if (existsSync(this.orders.journal.journalDir)) await this.calls().call({ ask: 'open' });
  }

  /**
   * Resolves when every good span of the batch is in the journal.
   * @throws Refusal `payload_too_large` or `invalid_request`; `spans_full` if none was taken and it should come again
   */
  async take(batch: SpanBatch, holder: string): Promise<Taken> {
    const release = this.waiting.take(holder, batch.body.length);
    if (!release)
      throw refusal(`${maxWaitingBytes} bytes of spans wait already, or half as many of this caller`);
    try {
      const intake = await this.calls().call({ ask: 'take', batch });
      if (!intake || !('taken' in intake)) throw refusalOf(intake);
      const { failures = [], ...taken } = intake;
      this.batches.emit({ project: batch.project, spans: taken.taken, failures });
      return taken;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      this.onNews({ event: 'write_failed', error: messageOf(error) });
      throw refusal('The journal of spans cannot be opened or written for now: the log says why');
    } finally {
      release();
    }
  }

  /** @throws Error why what was taken until now is not in the database; it stays in the journal */
  async flush(): Promise<void> {
    await this.worker?.call({ ask: 'flush' });
  }

  /** Waits, before a read, until spans sent earlier are found; 2 s at most. */
  async catchUp(): Promise<void> {
    if (this.last.state.depth > 0) await endsWithin(catchUpMs, this.flush()).catch(() => undefined);
  }

  /** Waits a moment for the database; what is left then stays in the journal. */
  close(): Promise<void> {
    this.closed ??= this.closeNow();
    return this.closed;
  }

  private async closeNow(): Promise<void> {
    await this.worker?.call({ ask: 'close', withinMs: closeMs }, 2 * closeMs).catch(() => undefined);
    await this.worker?.stop();
  }

  private calls(): WorkerCalls<IngestRequest, Intake | undefined, IngestNews> {
    if (this.closed) throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs });
    this.worker ??= new WorkerCalls(new URL('./ingest.worker.js', import.meta.url), {
      name: 'span ingest',
      workerData: this.orders,
      resourceLimits,
      restart,
      onNews: (message: IngestNews) => this.received(message),
      onDeath: ({ message }, restartInMs = 0) =>
        this.onNews({ event: 'drain_ended', error: message, restartInMs }),
    });
    return this.worker;
  }

  private received(message: IngestNews): void {
    if ('state' in message) this.last = { state: message.state, at: Date.now() };
    else this.onNews(message.news);
  }
}

/** An interceptor for routes that answer about spans. */
export const SpansUpToDateInterceptor = upToDate(SpanIngest);

const refusal = (detail: string): Refusal => new Refusal('spans_full', detail, { retryAfterMs });

function refusalOf(intake: Extract<Intake, { refused: string }> | undefined): Refusal {
  if (!intake) return refusal('The thread that reads spans gave no answer');
  const { refused, detail } = intake;
  return refused === 'spans_full' ? refusal(detail) : new Refusal(refused, detail);
}

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
/** Name of the ring that has the news of every project. */
const everyProject = '*';
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
    for (const name of [project, everyProject]) {
      const followed = this.followed.get(name);
      if (!followed || spans === 0) continue;
      if (followed.waiting === 0) setTimeout(() => this.tell(name, followed), everyMs).unref();
      followed.waiting += spans;
    }
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
