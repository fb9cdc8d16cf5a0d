import pg from 'pg';
import type { QueryRunner } from 'typeorm';
import { DatabaseClient } from './database-client.js';
import { isPassing } from './passing-error.js';

/** So long the last look is believed: a request of several statements waits for one of them. */
const believedMs = 1_000;

/**
 * Tells a server that works on a statement from one that is frozen, or behind a dead way: that one answers nobody, while
 * its connections look as good as ever. A statement that waits for such a server ends with its connection, and others
 * wait for no more than a look.
 */
export class SilentServer {
  private looking: Promise<boolean> | undefined;
  private foundSilentAt: number | undefined;

  /** @param patienceMs how long a statement may wait before the server is looked at, and how long that may take */
  constructor(
    private readonly url: string,
    private readonly patienceMs: number,
  ) {}

  /** @returns the same runner */
  watch(runner: QueryRunner): QueryRunner {
    const connect = runner.connect.bind(runner) as () => Promise<unknown>;
    const query = runner.query.bind(runner) as (...args: unknown[]) => Promise<unknown>;
    runner.connect = async () => {
      const mayBeSilent = this.looking !== undefined || this.foundSilentAt !== undefined;
      if (mayBeSilent && (await this.isSilent())) throw silence();
      return this.during(connect);
    };
    runner.query = (async (...args: unknown[]) => {
      const client: unknown = await runner.connect();
      const stream = client instanceof DatabaseClient ? client.connection.stream : undefined;
      return this.during(
        () => query(...args),
        () => stream?.destroy(silence()),
      );
    }) as QueryRunner['query'];
    return runner;
  }

  /** Looks at the server as long as the work takes long. */
  private async during(
    work: () => Promise<unknown>,
    onSilence: () => unknown = () => undefined,
  ): Promise<unknown> {
    let isOver = false;
    const look = async (): Promise<void> => {
      if ((await this.isSilent()) && !isOver) onSilence();
    };
    const timer = setInterval(() => void look(), this.patienceMs);
    try {
      return await work();
    } finally {
      isOver = true;
      clearInterval(timer);
    }
  }

  private async isSilent(): Promise<boolean> {
    if (performance.now() - (this.foundSilentAt ?? -Infinity) < believedMs) return true;
    this.looking ??= this.look().finally(() => (this.looking = undefined));
    const isSilent = await this.looking;
    this.foundSilentAt = isSilent ? performance.now() : undefined;
    return isSilent;
  }

  /** A refusal is an answer, too. */
  private async look(): Promise<boolean> {
    const client = new DatabaseClient({
      connectionString: this.url,
      application_name: 'toolkeeper-look',
      connectionTimeoutMillis: this.patienceMs,
    });
    try {
      await client.connect();
      return false;
    } catch (error) {
      return !(error instanceof pg.DatabaseError) && isPassing(error);
    } finally {
      void client.end().catch(() => undefined);
    }
  }
}

const silence = (): Error => new Error('Connection terminated: the server answers nobody');
