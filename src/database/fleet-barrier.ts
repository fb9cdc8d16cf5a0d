import { Injectable, Logger } from '@nestjs/common';
import { endsWithin } from '../common/abortable.js';
import { newId } from '../common/ids.js';
import { DatabaseHealth } from './database-health.js';
import { Replicas } from './replicas.js';
import { TableFollower } from './table-follower.js';

/** A replica that is cut off, or was killed, holds up an operator no longer. */
const maxWaitMs = 500;

const notify = "SELECT pg_notify('toolkeeper', $1)";

interface Flushes {
  flush(): Promise<void>;
}

/**
 * Holds back the answer to an administrative act until all replicas obey it. Notifications arrive in the order of their
 * commits: a replica that receives `sync <id>` was notified of the change before. It replies `synced <id>` when it has
 * read what changed.
 */
@Injectable()
export class FleetBarrier {
  private readonly logger = new Logger(FleetBarrier.name);
  /** Listeners for replies, by the id of the question. */
  private readonly questions = new Map<string, () => void>();
  private readonly journals: Flushes[] = [];

  constructor(
    private readonly database: DatabaseHealth,
    private readonly follower: TableFollower,
    private readonly replicas: Replicas,
  ) {
    database.changes.subscribe((payload) => {
      const [word, id = ''] = payload.split(' ');
      if (word === 'sync' && !this.questions.has(id))
        void this.reply(`synced ${id}`, () => this.follower.caughtUp());
      if (word === 'flush')
        void this.reply(`flushed ${id}`, () => Promise.all(this.journals.map((each) => each.flush())));
      if (word === 'synced') this.questions.get(id)?.();
    });
  }

  /** A backup (`flush <id>`) waits until what was promised before is in the database. MUST be called at the start. */
  addJournal(journal: Flushes): void {
    this.journals.push(journal);
  }

  /** Ends when the other replicas have read what was committed before; after half a second in any case. */
  async pass(): Promise<void> {
    const others = this.replicas.count - 1;
    if (others === 0) return;
    const id = newId();
    const all = Promise.withResolvers<void>();
    let missing = others;
    this.questions.set(id, () => {
      missing -= 1;
      if (missing === 0) all.resolve();
    });
    try {
      const asked = this.database.query(notify, [`sync ${id}`]).then(() => all.promise);
      if (await endsWithin(maxWaitMs, asked)) return;
      this.logger.warn(
        `A change was not confirmed within ${maxWaitMs} ms by ${missing} of ${others} other replicas`,
      );
    } catch (error) {
      this.logger.warn(`Other replicas could not be asked whether they saw a change: ${String(error)}`);
    } finally {
      this.questions.delete(id);
    }
  }

  /** A reply that cannot be sent is left out: the question ends by its timeout. */
  private async reply(answer: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      await this.database.query(notify, [answer]);
    } catch (error) {
      this.logger.debug(error, `not confirmed: ${answer}`);
    }
  }
}
