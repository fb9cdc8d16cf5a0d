import { Injectable, Logger } from '@nestjs/common';
import { endsWithin } from '../common/abortable.js';
import { newId } from '../common/ids.js';
import { DatabaseHealth } from './database-health.js';
import { Replicas, type Sibling } from './replicas.js';
import { TableFollower } from './table-follower.js';

/** A replica that was cut off or killed a moment ago holds up an operator no longer; one that is only busy answers by then. */
const maxWaitMs = 2_000;

const notify = "SELECT pg_notify('toolkeeper', $1)";

interface Flushes {
  flush(): Promise<void>;
}

/**
 * Holds back the answer to an administrative act until all replicas obey it. Notifications arrive in the order of their
 * commits: a replica that receives `sync <id>` was notified of the change before. It replies `synced <id> <replica>` when
 * it has read what changed.
 */
@Injectable()
export class FleetBarrier {
  private readonly logger = new Logger(FleetBarrier.name);
  /** Listeners for replies, by the id of the question. */
  private readonly questions = new Map<string, (replica: string) => void>();
  private readonly writers: (() => Promise<void>)[] = [];
  private readonly journals: Flushes[] = [];

  constructor(
    private readonly database: DatabaseHealth,
    private readonly follower: TableFollower,
    private readonly replicas: Replicas,
  ) {
    database.changes.subscribe((payload) => {
      const [word, id = '', replica = ''] = payload.split(' ');
      if (word === 'sync') void this.confirm(id);
      if (word === 'flush')
        void this.reply(`flushed ${id}`, () => Promise.all(this.journals.map((each) => each.flush())));
      if (word === 'synced') this.questions.get(id)?.(replica);
    });
  }

  /** @param write stores what is written with a delay and belongs to the change, such as its event */
  add(write: () => Promise<void>): void {
    this.writers.push(write);
  }

  /** A backup (`flush <id>`) waits until what was promised before is in the database. MUST be called at the start. */
  addJournal(journal: Flushes): void {
    this.journals.push(journal);
  }

  /**
   * Ends when all replicas, this one included, have read what was committed before; after two seconds in any case.
   * Replicas that are silent already are not awaited.
   * @returns the other replicas that have not confirmed it
   */
  async pass(): Promise<Sibling[]> {
    const { id: self, others } = this.replicas;
    const id = newId();
    const all = Promise.withResolvers<void>();
    const missing = new Map(others.map((other) => [other.id, other]));
    const awaited = new Set([self, ...others.filter(({ isAlive }) => isAlive).map((other) => other.id)]);
    this.questions.set(id, (replica) => {
      missing.delete(replica);
      awaited.delete(replica);
      if (awaited.size === 0) all.resolve();
    });
    try {
      await endsWithin(maxWaitMs, Promise.all(this.writers.map((write) => write())));
      await endsWithin(
        maxWaitMs,
        this.database.query(notify, [`sync ${id}`]).then(() => all.promise),
      );
    } catch (error) {
      this.logger.warn(`Replicas could not be asked whether they saw a change: ${String(error)}`);
    } finally {
      this.questions.delete(id);
    }
    return [...missing.values()];
  }

  private confirm(id: string): Promise<void> {
    const { id: self } = this.replicas;
    const own = this.questions.get(id);
    return this.reply(`synced ${id} ${self}`, () => this.follower.caughtUp(), own && (() => own(self)));
  }

  /** A reply that cannot be sent is left out: the question ends by its timeout. */
  private async reply(
    answer: string,
    work: () => Promise<unknown>,
    send: () => unknown = () => this.database.query(notify, [answer]),
  ): Promise<void> {
    try {
      await work();
      await send();
    } catch (error) {
      this.logger.debug(error, `not confirmed: ${answer}`);
    }
  }
}
