import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../../common/clock.js';

export interface AnswerCacheSettings {
  readonly maxBytes: number;
  /** How long an answer is given without asking again, in milliseconds; 0: never. */
  readonly freshMs: number;
  /** How much longer it is given where asking again fails. */
  readonly staleMs: number;
}

/** An answer as it was received. */
export interface KeptAnswer {
  readonly answer: unknown;
  /** What is left of its time, in milliseconds; 0: it is stale. */
  readonly freshForMs: number;
}

/** Answers by everything that was asked, in memory, bounded in bytes: the least used ones go first. */
export class AnswerCache {
  private readonly kept: LRUCache<string, { readonly answer: object; readonly freshUntil: number }>;

  constructor(
    private readonly settings: AnswerCacheSettings,
    private readonly clock: Clock = systemClock,
  ) {
    this.kept = new LRUCache({
      maxSize: settings.maxBytes,
      ttl: Math.max(1, settings.freshMs + settings.staleMs),
      ttlResolution: 0,
      perf: { now: () => clock.now() },
    });
  }

  /** Bytes of the answers that are kept, as JSON. */
  get bytes(): number {
    return this.kept.calculatedSize;
  }

  get(key: string): KeptAnswer | undefined {
    const kept = this.kept.get(key);
    return kept && { answer: kept.answer, freshForMs: Math.max(0, kept.freshUntil - this.clock.now()) };
  }

  set(key: string, answer: object): void {
    const { freshMs, staleMs } = this.settings;
    if (freshMs + staleMs === 0) return;
    const size = Buffer.byteLength(JSON.stringify(answer)) + key.length + entryBytes;
    this.kept.set(key, { answer, freshUntil: this.clock.now() + freshMs }, { size });
  }
}

/** What an entry costs beside its answer and its key. */
const entryBytes = 256;
