import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Asks the database whether it answers; for readiness. */
@Injectable()
export class DatabaseHealth {
  private asking: Promise<unknown> | undefined;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * One question is under way at most: probes of a frozen database must not fill the connection pool.
   * @throws Error when the database answers with an error or not within `timeoutMs`
   */
  async ping(timeoutMs: number): Promise<void> {
    this.asking ??= this.dataSource.query('SELECT 1').finally(() => (this.asking = undefined));
    const asking = this.asking;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`The database did not answer within ${timeoutMs} ms`)),
        timeoutMs,
      );
    });
    try {
      await Promise.race([asking, late]);
    } finally {
      clearTimeout(timer);
      asking.catch(() => undefined);
    }
  }
}
