import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { IntervalLoop } from '../../common/interval-loop.js';
import { storableText } from '../../common/pg-text.js';
import { keyOf, type Showing, type ShownKey, ShownPlaybooksRepository, type ShownRow } from './shown-playbooks.repository.js';

/** What a key of the table can hold, whatever its letters; no catalogue of ours has longer ones. */
const longestPart = 256;

/** A playbook's identity, as answers name it. */
export interface PlaybookIdentity {
  readonly playbook_id: string;
  readonly version: string;
}

/** How long a showing waits for others to be stored with. */
const gatherMs = 250;
/** How soon a write that failed is tried again. */
const retryMs = 2_000;
const sweepMs = 300_000;
/** Some 30 MB: a database that is away for long costs further showings, not the server. */
const mostWaiting = 100_000;

/** What was shown and is not stored yet. Bounded: beyond its cap, showings of further playbooks are not taken. */
class ShownBuffer {
  private showings = new Map<string, Showing>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.showings.size;
  }

  /** @returns false when it was full */
  add(showing: Showing): boolean {
    const key = keyOf(showing);
    const known = this.showings.get(key);
    if (!known && this.showings.size >= this.most) return false;
    this.showings.set(key, known ? both(known, showing) : showing);
    return true;
  }

  /** Takes everything out, to be stored. */
  take(): Showing[] {
    const taken = [...this.showings.values()];
    this.showings = new Map();
    return taken;
  }
}

const both = (a: Showing, b: Showing): Showing => ({
  ...a,
  first_shown_at: a.first_shown_at < b.first_shown_at ? a.first_shown_at : b.first_shown_at,
  last_shown_at: a.last_shown_at > b.last_shown_at ? a.last_shown_at : b.last_shown_at,
  times: a.times + b.times,
});

/**
 * Remembers which playbooks an investigation was shown, so that a platform can refuse a selection that an LLM made up
 * or took from elsewhere. Remembering costs a call nothing: rows are written together, a quarter of a second later.
 */
@Injectable()
export class ShownPlaybooks implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ShownPlaybooks.name);
  private readonly waiting = new ShownBuffer(mostWaiting);
  private readonly writer = new IntervalLoop(
    () => this.write(),
    retryMs,
    // The database may be away for long: one line is enough.
    (error, again) => again || this.writeFailed(error),
  );
  private readonly sweeper = new IntervalLoop(
    async () => void (await this.repository.deleteExpired()),
    sweepMs,
    (error) => this.logger.warn(`Expired showings could not be removed: ${String(error)}`),
  );
  private writing: Promise<void> = Promise.resolve();
  private isDropping = false;

  constructor(private readonly repository: ShownPlaybooksRepository) {}

  onApplicationBootstrap(): void {
    this.writer.start();
    this.sweeper.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.writer.stop(), this.sweeper.stop()]);
    await this.write().catch((error: unknown) => this.writeFailed(error));
  }

  /** Never fails and never waits. Call it for cached answers as well: they are shown like any other. */
  remember(investigationId: string, playbooks: readonly PlaybookIdentity[]): void {
    const wasEmpty = this.waiting.size === 0;
    const now = new Date();
    for (const { playbook_id, version } of playbooks) {
      const key = {
        investigationId: storableText(investigationId),
        playbook_id: storableText(playbook_id),
        version: storableText(version),
      };
      if (!isStorable(key)) continue;
      const taken = this.waiting.add({ ...key, first_shown_at: now, last_shown_at: now, times: 1 });
      if (!taken) this.dropped();
    }
    if (wasEmpty && this.waiting.size > 0) this.writer.hasten(gatherMs);
  }

  /** @returns undefined when the investigation was not shown it, or has expired */
  async find(
    investigationId: string,
    { playbook_id, version }: PlaybookIdentity,
  ): Promise<ShownRow | undefined> {
    await this.write();
    return this.repository.find({ investigationId, playbook_id, version });
  }

  /** Everything that the investigation was shown, by playbook and version. */
  async of(investigationId: string): Promise<ShownRow[]> {
    await this.write();
    return this.repository.of(investigationId);
  }

  /** Stores what waits; writes come one after another, so that a read after it misses nothing. */
  private write(): Promise<void> {
    this.writing = this.writing.then(
      () => this.writeOnce(),
      () => this.writeOnce(),
    );
    return this.writing;
  }

  private async writeOnce(): Promise<void> {
    if (this.waiting.size === 0) return;
    const showings = this.waiting.take();
    try {
      await this.repository.add(showings);
      this.isDropping = false;
    } catch (error) {
      for (const showing of showings) if (!this.waiting.add(showing)) this.dropped();
      throw error;
    }
  }

  private writeFailed(error: unknown): void {
    this.logger.error(error, 'What investigations are shown cannot be stored for now');
  }

  private dropped(): void {
    if (!this.isDropping)
      this.logger.error(`More than ${mostWaiting} showings wait for the database: further ones are lost`);
    this.isDropping = true;
  }
}

const isStorable = (key: ShownKey): boolean =>
  [key.investigationId, key.playbook_id, key.version].every(({ length }) => length <= longestPart);
