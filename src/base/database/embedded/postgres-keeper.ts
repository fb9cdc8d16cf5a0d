import { Logger } from '@nestjs/common';
import { type BackOff, backOff } from '../../common/back-off.js';
import { IntervalLoop } from '../../common/interval-loop.js';
import type { EmbeddedPostgres, RunningPostgres } from './embedded-postgres.js';

/** Options of a keeper, for tests. */
export interface KeeperOptions {
  readonly logger?: Pick<Logger, 'error' | 'log'>;
  /** Interval of liveness checks (default 500 ms). */
  readonly checkIntervalMs?: number;
}

/** Pauses between failed starts. */
const pauses: BackOff = { firstMs: 500, maxMs: 30_000 };
/** Uptime after which the death of a server does not count as a failed start. */
const sustainedMs = 30_000;

/**
 * Restarts the embedded server if it dies, for example if the kernel kills it for its memory. It restarts on the same
 * port, at first immediately and then with a growing back-off. Polls, because the server may not be our child process.
 */
export class PostgresKeeper {
  private readonly logger: Pick<Logger, 'error' | 'log'>;
  private readonly loop: IntervalLoop;
  /** Start of the running server, by performance.now(); undefined while it is down. */
  private startedAt: number | undefined = performance.now();
  /** Starts in a row that failed or did not last. */
  private failures = 0;
  /** Earliest time of the next start, by performance.now(). */
  private tryAt = 0;

  private constructor(
    private readonly postgres: EmbeddedPostgres,
    private server: RunningPostgres,
    { logger = new Logger('Database'), checkIntervalMs = 500 }: KeeperOptions,
  ) {
    this.logger = logger;
    this.loop = new IntervalLoop(
      () => this.check(),
      checkIntervalMs,
      (error) => this.onFailedStart(error),
    );
  }

  /** Starts the server and keeps it running. @throws EmbeddedPostgresError if the first start fails */
  static async start(postgres: EmbeddedPostgres, options: KeeperOptions = {}): Promise<PostgresKeeper> {
    const keeper = new PostgresKeeper(postgres, await postgres.start(), options);
    keeper.loop.start();
    return keeper;
  }

  /** URL of the server, which stays the same across restarts. */
  get url(): string {
    return this.server.url;
  }

  get pid(): number {
    return this.server.pid;
  }

  /** Stops the server, or leaves it to the other processes that still use it. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await this.server.stop();
  }

  /** Restarts the server if it has ended and the pause is over. */
  private async check(): Promise<void> {
    const now = performance.now();
    if (this.server.isRunning() || now < this.tryAt) return;
    if (this.startedAt !== undefined) this.onDeath(now - this.startedAt);
    if (now < this.tryAt) return;
    this.server = await this.postgres.startAgain(this.server.port);
    this.startedAt = performance.now();
    this.logger.log(`The embedded PostgreSQL runs again (pid ${this.server.pid})`);
  }

  private onDeath(livedMs: number): void {
    this.startedAt = undefined;
    this.logger.error(`The embedded PostgreSQL (pid ${this.server.pid}) has ended and is started again`);
    if (livedMs >= sustainedMs) this.failures = 0;
    else this.pause();
  }

  private onFailedStart(error: unknown): void {
    this.logger.error(error);
    this.pause();
  }

  private pause(): void {
    this.tryAt = performance.now() + backOff(++this.failures, pauses);
  }
}
