import { join } from 'node:path';
import pg from 'pg';
import { identityOf, lives } from '../../../src/base/common/process-identity.js';
import {
  EmbeddedPostgres,
  type RunningPostgres,
} from '../../../src/base/database/embedded/embedded-postgres.js';
import { freePort } from '../../../src/base/database/embedded/server-process.js';
import { childrenOf } from '../../support/processes.js';
import { until } from '../../support/wait.js';

/** A PostgreSQL of one run's own, on the same port each time: stopping it hurts nobody else. */
export class OwnPostgres {
  private running: RunningPostgres | undefined;
  private port = 0;

  constructor(private readonly folder: string) {}

  get pid(): number {
    return this.server.pid;
  }

  get url(): string {
    return this.server.url;
  }

  async start(): Promise<void> {
    this.port ||= await freePort();
    const settings = { port: String(this.port), max_connections: '100' };
    this.running = await new EmbeddedPostgres({ directory: join(this.folder, 'postgres'), settings }).start();
  }

  /** As `pg_ctl stop -m immediate`: no checkpoint, no goodbye; the next start recovers. */
  async stopAtOnce(): Promise<void> {
    const { pid } = this.server;
    const identity = identityOf(pid);
    this.running = undefined;
    process.kill(pid, 'SIGQUIT');
    await until(() => identity === undefined || !lives(identity), { what: 'the end of PostgreSQL' });
  }

  freeze(): void {
    for (const pid of this.processes()) process.kill(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.processes()) process.kill(pid, 'SIGCONT');
  }

  async stop(): Promise<void> {
    await this.running?.stop();
  }

  async query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql, values)).rows;
    } finally {
      await client.end();
    }
  }

  private get server(): RunningPostgres {
    if (!this.running) throw new Error('PostgreSQL does not run');
    return this.running;
  }

  private processes(): number[] {
    return [this.server.pid, ...childrenOf(this.server.pid)];
  }
}
