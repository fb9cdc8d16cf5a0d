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

/** The result of a batch of which spans were taken. */
export type Taken = Omit<Extract<Intake, { taken: number }>, 'failures'>;

/** A batch whose taken spans are in the journal. */
interface JournalledBatch {
  readonly project: string;
  /** Number of spans that were taken. */
  readonly spans: number;
  /** Failures of executions that these spans report. */
  readonly failures: readonly ReportedFailure[];
}

/** Max bytes of bodies that wait for the thread, because they are in memory. */
const maxWaitingBytes = 67_108_864;
/** When a refused sender should try again. */
const retryAfterMs = 5_000;
/** Max time for which a read waits for earlier spans. */
const catchUpMs = 2_000;
/** Max time for which a shutdown waits for the database. */
const closeMs = 5_000;
/** Delays before a thread that died is started again. */
const restart = { firstMs: 500, maxMs: 5_000 };
/** Memory of the thread: twice what the largest batch takes. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 };
/** State of the journal before the thread is started. */
const idle: JournalState = {
  depth: 0,
  oldestMs: 0,
  bytes: 0,
  takesMore: true,
  damagedLines: 0,
  lastWriteFailureAt: 0,
};

/**
 * Takes batches of spans. One thread reads the bodies and appends the spans to the spans' journal; a second one moves them to
 * the database. The threads are started by the first batch, or by `open` if an earlier gateway left a journal.
 */
export class SpanIngest {
  /** Emits each batch of which spans were taken. */
  readonly batches = new TypedEvents<JournalledBatch>((error) =>
    new Logger(SpanIngest.name).error(error, 'a listener of batches failed'),
  );
  private worker: WorkerCalls<IngestRequest, Intake | undefined, IngestNews> | undefined;
  /** The latest report of the thread, and when it was received. */
  private lastReport = { state: idle, at: Date.now() };
  /** Bytes of bodies that wait for the thread. One caller may have half of them. */
  private readonly waitingBytes = new CallerSlots(maxWaitingBytes / 2, maxWaitingBytes);
  private closed: Promise<void> | undefined;

  constructor(
    private readonly orders: IngestOrders,
    private readonly onNews: (news: JournalNews) => void,
  ) {}

  /** The journal's state; while spans wait, it is reported four times a second. */
  state(): JournalState {
    const { state, at } = this.lastReport;
    return state.depth === 0 ? state : { ...state, oldestMs: state.oldestMs + Date.now() - at };
  }

  /** Begins to store spans that an earlier gateway left in the journal. @throws Error if the journal cannot be opened */
  async open(): Promise<void> {
    if (existsSync(this.orders.journal.journalDir)) await this.thread().call({ ask: 'open' });
  }

  /**
   * Resolves when all valid spans of the batch are in the journal.
   * @param holder whose share of the waiting bytes the batch counts for
   * @throws Refusal `payload_too_large` or `invalid_request`; `spans_full` if the batch should be sent again later
   */
  async take(batch: SpanBatch, holder: string): Promise<Taken> {
    const release = this.waitingBytes.take(holder, batch.body.length);
    if (!release)
      throw spansFull(`${maxWaitingBytes} bytes of spans wait already, or half as many of this caller`);
    try {
      const intake = await this.thread().call({ ask: 'take', batch });
      if (!intake || !('taken' in intake)) throw refusalOf(intake);
      const { failures = [], ...taken } = intake;
      this.batches.emit({ project: batch.project, spans: taken.taken, failures });
      return taken;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      this.onNews({ event: 'write_failed', error: messageOf(error) });
      throw spansFull('The journal of spans cannot be opened or written for now: the log says why');
    } finally {
      release();
    }
  }

  /** Resolves when all taken spans are in the database. @throws Error if they cannot be stored; they stay in the journal */
  async flush(): Promise<void> {
    await this.worker?.call({ ask: 'flush' });
  }

  /** Waits until reads find all spans that were taken before, but not longer than `catchUpMs`. */
  async catchUp(): Promise<void> {
    if (this.lastReport.state.depth > 0) await endsWithin(catchUpMs, this.flush()).catch(() => undefined);
  }

  /** Stops the threads. Spans that cannot be stored within `closeMs` stay in the journal. */
  close(): Promise<void> {
    this.closed ??= this.closeNow();
    return this.closed;
  }

  private async closeNow(): Promise<void> {
    await this.worker?.call({ ask: 'close', withinMs: closeMs }, 2 * closeMs).catch(() => undefined);
    await this.worker?.stop();
  }

  /** The thread, which is started by the first use. */
  private thread(): WorkerCalls<IngestRequest, Intake | undefined, IngestNews> {
    if (this.closed) throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs });
    this.worker ??= new WorkerCalls(new URL('./ingest.worker.js', import.meta.url), {
      name: 'span ingest',
      workerData: this.orders,
      resourceLimits,
      restart,
      onNews: (message: IngestNews) => this.onThreadNews(message),
      onDeath: ({ message }, restartInMs = 0) =>
        this.onNews({ event: 'drain_ended', error: message, restartInMs }),
    });
    return this.worker;
  }

  private onThreadNews(message: IngestNews): void {
    if ('state' in message) this.lastReport = { state: message.state, at: Date.now() };
    else this.onNews(message.news);
  }
}

/** An interceptor for routes that read spans: they find all spans that were taken before the request. */
export const SpansUpToDateInterceptor = upToDate(SpanIngest);

/** A refusal after which the batch should be sent again. */
const spansFull = (detail: string): Refusal => new Refusal('spans_full', detail, { retryAfterMs });

/** The refusal of a batch of which no span was taken. */
function refusalOf(intake: Extract<Intake, { refused: string }> | undefined): Refusal {
  if (!intake) return spansFull('The thread that reads spans gave no answer');
  const { refused, detail } = intake;
  return refused === 'spans_full' ? spansFull(detail) : new Refusal(refused, detail);
}

/** Spans of a project that this server took within an announcement's interval. */
interface NewSpans {
  readonly project: string;
  /** Number of spans. */
  readonly spans: number;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
}

/** A project, or all of them, whose new spans pages follow. */
interface FollowedProject {
  readonly ring: EventRing<NewSpans>;
  /** Number of spans that are taken but not announced yet. */
  unannounced: number;
}

/** Interval of announcements. */
const announceEveryMs = 500;
/** Name of the ring that has the new spans of every project. */
const everyProject = '*';
/** Limits of a ring. They are low, because a page only needs to know that there are new spans. */
const ringLimits = { maxEntries: 100, maxBytes: 65_536 };
/** Max projects that have a ring. */
const maxProjects = 1_000;

/** Announces the number of new spans to pages that follow a project, at most twice a second. */
@Injectable()
export class SpanNews {
  private readonly followed = new LRUCache<string, FollowedProject>({
    max: maxProjects,
    dispose: ({ ring }) => ring.close(),
  });

  constructor(topics: StreamTopics, { batches }: SpanIngest) {
    batches.subscribe(({ project, spans }) => this.onBatch(project, spans));
    topics.add('spans', {
      scope: 'traces:read',
      earlier: 0,
      ofProject: true,
      eventName: () => 'spans',
      ring: (project = '') => this.ringOf(project),
    });
  }

  private onBatch(project: string, spans: number): void {
    for (const name of [project, everyProject]) {
      const followed = this.followed.get(name);
      if (!followed || spans === 0) continue;
      if (followed.unannounced === 0)
        setTimeout(() => this.announce(name, followed), announceEveryMs).unref();
      followed.unannounced += spans;
    }
  }

  private announce(project: string, followed: FollowedProject): void {
    followed.ring.append({ project, spans: followed.unannounced, timestamp: new Date().toISOString() });
    followed.unannounced = 0;
  }

  /** The ring that pages of a project follow, which is made for the first of them. */
  private ringOf(project: string): EventRing<NewSpans> {
    const followed = this.followed.get(project) ?? { ring: new EventRing(ringLimits), unannounced: 0 };
    this.followed.set(project, followed);
    return followed.ring;
  }
}
