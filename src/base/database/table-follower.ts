import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { IntervalLoop } from '../common/interval-loop.js';
import { DatabaseHealth } from './database-health.js';

/** Interval of reads while notifications do not arrive, and of retries after a failed read. */
const pollMs = 1_000;
/** Default interval of reads in addition to notifications, which may get lost. */
const safetyReadMs = 10_000;

/** A table to follow. */
export interface Followed {
  readonly table: string;
  /** Name for the log, such as "the playbook catalogue". */
  readonly what: string;
  /** Interval of reading for what changes without a notification, such as a deadline. */
  readonly everyMs?: number;
}

/**
 * Follows changes of tables by other replicas or by an operator. The database notifies of changes at once, on one
 * connection for all tables; periodic reads cover lost notifications. A table needs a trigger that executes
 * `toolkeeper_changed()`.
 */
@Injectable()
export class TableFollower implements BeforeApplicationShutdown {
  private readonly logger = new Logger(TableFollower.name);
  /** The followed tables with their names. */
  private readonly tables = new Map<FollowedTable, string>();

  constructor(private readonly database: DatabaseHealth) {
    database.changes.subscribe((changed) => {
      for (const [table, name] of this.tables) if (name === changed) table.changed();
    });
    database.connections.subscribe(() => {
      for (const table of this.tables.keys()) table.changed();
    });
  }

  /** Reads at once, and after each change until the shutdown. @param read reads the changes; its runs never overlap */
  follow({ table, what, everyMs = safetyReadMs }: Followed, read: () => Promise<void>): void {
    const reportFailure = (error: unknown, again: boolean): void => {
      // Logged once, because the database may be unavailable for long.
      if (!again) this.logger.error(error, `Changes of ${what} are not seen for now`);
    };
    this.tables.set(new FollowedTable(this.database, read, everyMs, reportFailure), table);
  }

  /** Resolves when all changes that the database has notified of so far were read. @throws the error of a read */
  async caughtUp(): Promise<void> {
    await Promise.all([...this.tables.keys()].map((table) => table.caughtUp()));
  }

  /** Stops before the database closes, because later reads would fail. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.tables.keys()].map((table) => table.stop()));
  }
}

/** Reads one table, one read at a time. */
class FollowedTable {
  private readonly loop: IntervalLoop;
  /** Whether there are changes that no read has begun to read. */
  private isDue = true;
  /** Ends with the last read. */
  private lastRead: Promise<void> = Promise.resolve();
  /** Start of the last read, by performance.now(). */
  private readAt = -Infinity;

  constructor(
    private readonly database: DatabaseHealth,
    private readonly read: () => Promise<void>,
    private readonly everyMs: number,
    onError: (error: unknown, again: boolean) => void,
  ) {
    this.loop = new IntervalLoop(() => this.run(), pollMs, onError);
    this.loop.start(0);
  }

  /** Reads at once. */
  changed(): void {
    this.isDue = true;
    this.loop.hasten(0);
  }

  /** Resolves when the changes so far were read. */
  caughtUp(): Promise<void> {
    return this.isDue ? this.readNow() : this.lastRead;
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private async run(): Promise<void> {
    const isOld = performance.now() - this.readAt >= this.everyMs;
    if (this.isDue || isOld || !this.database.listens) await this.readNow();
  }

  /** Reads after the read in progress, which may have missed later changes. */
  private readNow(): Promise<void> {
    this.isDue = false;
    this.readAt = performance.now();
    this.lastRead = this.lastRead.catch(() => undefined).then(() => this.read());
    this.lastRead.catch(() => (this.isDue = true));
    return this.lastRead;
  }
}
