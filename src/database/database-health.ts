import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { endsWithin } from '../common/abortable.js';
import type { PartHealth } from '../observability/contributors.js';

const pingTimeoutMs = 2_000;

/** Asks the database whether it answers; for readiness. */
@Injectable()
export class DatabaseHealth {
  private readonly logger = new Logger(DatabaseHealth.name);
  private asking: Promise<unknown> | undefined;

  constructor(private readonly dataSource: DataSource) {}

  /** Probes answer everybody: the reason, which names hosts and users, is for the log only. */
  async check(): Promise<PartHealth> {
    const asked = performance.now();
    const took = (): number => Math.round(performance.now() - asked);
    try {
      await this.ping(pingTimeoutMs);
      return { status: 'up', responseTime: took() };
    } catch (error) {
      this.logger.warn(error, 'readiness: the database does not answer');
      return { status: 'down', message: 'does not answer', responseTime: took() };
    }
  }

  /**
   * One question is under way at most: probes of a frozen database must not fill the connection pool.
   * @throws Error when the database answers with an error or not within `timeoutMs`
   */
  async ping(timeoutMs: number): Promise<void> {
    this.asking ??= this.dataSource.query('SELECT 1').finally(() => (this.asking = undefined));
    if (!(await endsWithin(timeoutMs, this.asking)))
      throw new Error(`The database did not answer within ${timeoutMs} ms`);
  }
}
