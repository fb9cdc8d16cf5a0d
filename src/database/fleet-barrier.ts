import { Injectable, Logger } from '@nestjs/common';
import { endsWithin } from '../common/abortable.js';
import { newId } from '../common/ids.js';
import { DatabaseHealth } from './database-health.js';
import { isAlive, Replicas } from './replicas.js';
import { TableFollower } from './table-follower.js';

/** A replica that is cut off, or was killed, holds up an operator no longer. */
const maxWaitMs = 500;

/** Notifies nobody if no other replica is alive. */
const ask = `SELECT id, pg_notify('toolkeeper', $2) FROM replicas WHERE ${isAlive} AND id <> $1`;

/**
 * Holds back the answer to an administrative act until all replicas obey it. Notifications arrive in the order of their
 * commits: a replica that receives `sync <id>` was notified of the change before. It replies `synced <id> <replica>` when
 * it has read what changed.
 */
@Injectable()
export class FleetBarrier {
  private readonly logger = new Logger(FleetBarrier.name);
  /** What is done with the replies, by the id of the question. */
  private readonly questions = new Map<string, (replica: string) => void>();

  constructor(
    private readonly database: DatabaseHealth,
    private readonly follower: TableFollower,
    private readonly replicas: Replicas,
  ) {
    database.changes.subscribe((payload) => {
      const [word, id = '', replica = ''] = payload.split(' ');
      if (word === 'sync' && !this.questions.has(id)) void this.reply(id);
      if (word === 'synced') this.questions.get(id)?.(replica);
    });
  }

  /** Ends when the other replicas have read what was committed before; after half a second in any case. */
  async pass(): Promise<void> {
    if (this.replicas.count === 1) return;
    const id = newId();
    const replied = new Set<string>();
    const all = Promise.withResolvers<void>();
    let others: readonly string[] | undefined;
    const missing = (): string[] | undefined => others?.filter((other) => !replied.has(other));
    const check = (): void => {
      if (missing()?.length === 0) all.resolve();
    };
    this.questions.set(id, (replica) => {
      replied.add(replica);
      check();
    });
    const asked = async (): Promise<void> => {
      const rows = await this.database.query<{ id: string }>(ask, [this.replicas.id, `sync ${id}`]);
      others = rows.map((row) => row.id);
      check();
      await all.promise;
    };
    try {
      if (await endsWithin(maxWaitMs, asked())) return;
      const which = missing()?.join(', ') ?? 'any other replica';
      this.logger.warn(`A change was not confirmed within ${maxWaitMs} ms by ${which}`);
    } catch (error) {
      this.logger.warn(`Other replicas could not be asked whether they saw a change: ${String(error)}`);
    } finally {
      this.questions.delete(id);
    }
  }

  private async reply(id: string): Promise<void> {
    await this.follower.caughtUp();
    const reply = `synced ${id} ${this.replicas.id}`;
    // Whoever asked waits half a second at most.
    await this.database.query(`SELECT pg_notify('toolkeeper', $1)`, [reply]).catch(() => undefined);
  }
}
