import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { IntervalLoop } from '../common/interval-loop.js';
import { DatabaseHealth } from './database-health.js';

/** Interval of reading while notifications do not arrive, and of repeating a read that failed. */
const pollMs = 1_000;
/** Interval of reading in addition to notifications, unless a follow has its own. */
const netMs = 10_000;

export interface Followed {
  readonly table: string;
  /** Name for the log, such as "the playbook catalogue". */
  readonly what: string;
  /** Interval of reading for what changes without a notification, such as a deadline. */
  readonly everyMs?: number;
}

/**
 * Follows changes of tables by other replicas or by an operator. The database notifies of changes at once, on one
 * connection for all tables; reading now and then covers what a notification does not reach. A table needs a trigger that
 * executes `toolkeeper_changed()`.
 */
@Injectable()
export class TableFollower implements BeforeApplicationShutdown {
  private readonly logger = new Logger(TableFollower.name);
  private readonly follows = new Map<Follow, string>();

  constructor(private readonly database: DatabaseHealth) {
    database.changes.subscribe((changed) => {
      for (const [follow, table] of this.follows) if (table === changed) follow.changed();
    });
    database.connections.subscribe(() => {
      for (const follow of this.follows.keys()) follow.changed();
    });
  }

  /**
   * Looks at once, and after each change until the shutdown.
   * @param look reads what changed; looks of one follow never overlap
   */
  follow({ table, what, everyMs = netMs }: Followed, look: () => Promise<void>): void {
    const failed = (error: unknown, again: boolean): void => {
      // The database may be away for long: one line is enough.
      if (!again) this.logger.error(error, `Changes of ${what} are not seen for now`);
    };
    this.follows.set(new Follow(this.database, look, everyMs, failed), table);
  }

  /** Ends when all changes that the database has notified of so far were read. @throws an error of a look */
  async caughtUp(): Promise<void> {
    await Promise.all([...this.follows.keys()].map((follow) => follow.caughtUp()));
  }

  /** Before the database closes: a look that comes later would fail. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.follows.keys()].map((follow) => follow.stop()));
  }
}

/** The looks at one table. */
class Follow {
  private readonly loop: IntervalLoop;
  private isDue = true;
  private looking: Promise<void> = Promise.resolve();
  private lookedAt = -Infinity;

  constructor(
    private readonly database: DatabaseHealth,
    private readonly look: () => Promise<void>,
    private readonly everyMs: number,
    onError: (error: unknown, again: boolean) => void,
  ) {
    this.loop = new IntervalLoop(() => this.run(), pollMs, onError);
    this.loop.start(0);
  }

  changed(): void {
    this.isDue = true;
    this.loop.hasten(0);
  }

  caughtUp(): Promise<void> {
    return this.isDue ? this.lookNow() : this.looking;
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private async run(): Promise<void> {
    const isOver = performance.now() - this.lookedAt >= this.everyMs;
    if (this.isDue || isOver || !this.database.listens) await this.lookNow();
  }

  /** After the look under way, which may have missed what changed since. */
  private lookNow(): Promise<void> {
    this.isDue = false;
    this.lookedAt = performance.now();
    this.looking = this.looking.catch(() => undefined).then(() => this.look());
    this.looking.catch(() => (this.isDue = true));
    return this.looking;
  }
}
