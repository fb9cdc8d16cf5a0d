import { Injectable, Logger } from '@nestjs/common';
import { endsWithin } from '../common/abortable.js';
import { newId } from '../common/ids.js';
import { DatabaseHealth } from './database-health.js';
import { Replicas, type Sibling } from './replicas.js';
import { TableFollower } from './table-follower.js';

/** Max wait for a replica that was just killed or disconnected. One that is only busy answers in this time. */
const maxWaitMs = 2_000;

const sendNotification = "SELECT pg_notify('toolkeeper', $1)";

/** A journal that can store its waiting records in the database now. */
interface FlushableJournal {
  flush(): Promise<void>;
}

/**
 * Delays the answer to an administrative act until all replicas apply it. Notifications arrive in the order of their commits,
 * so a replica that receives `sync <id>` was notified of the change before. It replies `synced <id> <replica>` when it has
 * read the change.
 */
@Injectable()
export class FleetBarrier {
  private readonly logger = new Logger(FleetBarrier.name);
  /** Listeners for replies, by the id of the question. */
  private readonly questions = new Map<string, (replica: string) => void>();
  /** Functions that store delayed writes. */
  private readonly writers: (() => Promise<void>)[] = [];
  /** Journals for which backups wait. */
  private readonly journals: FlushableJournal[] = [];

  constructor(
    private readonly database: DatabaseHealth,
    private readonly follower: TableFollower,
    private readonly replicas: Replicas,
  ) {
    database.changes.subscribe((payload) => {
      const [word, id = '', replica = ''] = payload.split(' ');
      if (word === 'sync')
        void this.reply(id, `synced ${id} ${this.replicas.id}`, () => this.follower.caughtUp());
      if (word === 'flush')
        void this.reply(id, `flushed ${id}`, () => Promise.all(this.journals.map((each) => each.flush())));
      if (word === 'synced') this.questions.get(id)?.(replica);
    });
  }

  /** Adds a function that stores delayed writes of a change, such as its event. `pass` calls it. */
  addWriter(write: () => Promise<void>): void {
    this.writers.push(write);
  }

  /** Adds a journal for which a backup (`flush <id>`) waits. MUST be called at the start. */
  addJournal(journal: FlushableJournal): void {
    this.journals.push(journal);
  }

  /**
   * Waits until all replicas have read all commits so far, but at most two seconds. It does not wait for silent replicas.
   * @returns the other replicas that have not confirmed
   */
  async pass(): Promise<Sibling[]> {
    const { id: self, others } = this.replicas;
    const id = newId();
    const allConfirmed = Promise.withResolvers<void>();
    const missing = new Map(others.map((other) => [other.id, other]));
    const awaited = new Set([self, ...others.filter(({ isAlive }) => isAlive).map((other) => other.id)]);
    this.questions.set(id, (replica) => {
      missing.delete(replica);
      awaited.delete(replica);
      if (awaited.size === 0) allConfirmed.resolve();
    });
    try {
      await endsWithin(maxWaitMs, Promise.all(this.writers.map((write) => write())));
      await endsWithin(
        maxWaitMs,
        this.database.query(sendNotification, [`sync ${id}`]).then(() => allConfirmed.promise),
      );
    } catch (error) {
      this.logger.warn(`Replicas could not be asked whether they saw a change: ${String(error)}`);
    } finally {
      this.questions.delete(id);
    }
    return [...missing.values()];
  }

  /** Replies to a question when `work` is done. A failed reply is ignored, because the question has a timeout. */
  private async reply(id: string, answer: string, work: () => Promise<unknown>): Promise<void> {
    const ownQuestion = this.questions.get(id);
    try {
      await work();
      // This replica's own question needs no notification.
      if (ownQuestion) ownQuestion(this.replicas.id);
      else await this.database.query(sendNotification, [answer]);
    } catch (error) {
      this.logger.debug(error, `not confirmed: ${answer}`);
    }
  }
}
