import { Logger } from '@nestjs/common';
import { type BackOff, backOff } from '../../common/back-off.js';
import { IntervalLoop } from '../../common/interval-loop.js';
import type { EmbeddedPostgres, RunningPostgres } from './embedded-postgres.js';

export interface KeeperOptions {
  readonly logger?: Pick<Logger, 'error' | 'log'>;
  /** How often it looks whether the server lives (default 500 ms). */
  readonly lookEveryMs?: number;
}

const pauses: BackOff = { firstMs: 500, longestMs: 30_000 };
/** A server that ran this long and then died was no failed start. */
const sustainedMs = 30_000;

/**
 * Keeps the embedded server running: one that dies (killed for memory, say, or by hand) is started again where those
 * who use it expect it, at once and then after growing pauses. It may be no child of ours, so its end is not told: we look.
 */
export class PostgresKeeper {
  private readonly logger: Pick<Logger, 'error' | 'log'>;
  private readonly loop: IntervalLoop;
  /** Absent while it does not run. */
  private startedAt: number | undefined = performance.now();
  private failures = 0;
  private tryAt = 0;

  private constructor(
    private readonly postgres: EmbeddedPostgres,
    private server: RunningPostgres,
    { logger = new Logger('Database'), lookEveryMs = 500 }: KeeperOptions,
  ) {
    this.logger = logger;
    this.loop = new IntervalLoop(
      () => this.look(),
      lookEveryMs,
      (error) => this.failed(error),
    );
  }

  /** @throws EmbeddedPostgresError when it cannot be started the first time */
  static async start(postgres: EmbeddedPostgres, options: KeeperOptions = {}): Promise<PostgresKeeper> {
    const keeper = new PostgresKeeper(postgres, await postgres.start(), options);
    keeper.loop.start();
    return keeper;
  }

  /** The same for as long as it is kept. */
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

  private async look(): Promise<void> {
    const now = performance.now();
    if (this.server.isRunning() || now < this.tryAt) return;
    if (this.startedAt !== undefined) this.died(now - this.startedAt);
    if (now < this.tryAt) return;
    this.server = await this.postgres.startAgain(this.server.port);
    this.startedAt = performance.now();
    this.logger.log(`The embedded PostgreSQL runs again (pid ${this.server.pid})`);
  }

  private died(livedMs: number): void {
    this.startedAt = undefined;
    this.logger.error(`The embedded PostgreSQL (pid ${this.server.pid}) has ended and is started again`);
    if (livedMs >= sustainedMs) this.failures = 0;
    else this.pause();
  }

  private failed(error: unknown): void {
    this.logger.error(error);
    this.pause();
  }

  private pause(): void {
    this.tryAt = performance.now() + backOff(++this.failures, pauses);
  }
}
