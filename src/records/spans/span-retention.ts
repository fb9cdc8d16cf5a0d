import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { dayMs, minuteMs } from '../../base/common/clock.js';
import { Refusal } from '../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { DayPartitions } from '../../base/database/day-partitions.js';
import { TableRetention } from '../journal/table-retention.js';
import { oldestKept } from './ingest/normalise-span.js';
import { TraceReads } from './reads/trace-reads.js';

/** Bytes of all partitions. */
const selectSize = `
  SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::float8 AS bytes
  FROM pg_inherits WHERE inhparent IN ('spans'::regclass, 'span_contents'::regclass)`;

/**
 * Drops days of spans that are older than SPANS_RETENTION_DAYS, then the oldest days while all of them take more than
 * SPANS_MAX_BYTES. Today is never dropped: if it alone takes more, new spans are refused.
 */
@Injectable()
export class SpanRetention extends TableRetention {
  private readonly partitions: DayPartitions;
  /** Bytes of all spans at the last run. */
  private bytes = 0;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'spans'>,
    @InjectDataSource() private readonly db: DataSource,
    private readonly reads: TraceReads,
  ) {
    super(minuteMs, 'old spans could not be deleted');
    this.partitions = new DayPartitions(db, ['spans', 'span_contents']);
  }

  /** @throws Refusal `spans_full` if the spans took more than SPANS_MAX_BYTES after the last run, as today's alone then did */
  assertRoom(): void {
    const { maxBytes } = this.config.spans;
    if (this.bytes <= maxBytes) return;
    const detail = `The spans of today take ${this.bytes} bytes in the database, the cap is ${maxBytes} (SPANS_MAX_BYTES)`;
    throw new Refusal('spans_full', detail, { retryAfterMs: minuteMs });
  }

  /** Measures the spans, for `assertRoom`. @param deletes whether this replica also deletes old days */
  async run(deletes = true): Promise<void> {
    const now = Date.now();
    const { retentionDays, maxBytes } = this.config.spans;
    const oldest = oldestKept(now, retentionDays);
    const today = Math.floor(now / dayMs) * dayMs;
    let bytes = await this.size();
    this.bytes = bytes;
    if (!deletes) return;
    for (const day of await this.partitions.days()) {
      if (day >= oldest && (bytes <= maxBytes || day >= today)) break;
      await this.partitions.drop(day, async (db, suffix) => {
        await db.query('SELECT mark_runs_of_day($1)', [`spans_${suffix}`]);
        return 0;
      });
      const bytesAfter = await this.size();
      const reason = day < oldest ? 'SPANS_RETENTION_DAYS' : 'SPANS_MAX_BYTES';
      const entry = {
        event: 'spans_cleaned',
        day: new Date(day).toISOString().slice(0, 10),
        bytes: bytes - bytesAfter,
      };
      this.logger.log(entry, `spans of a day are deleted (${reason})`);
      bytes = bytesAfter;
    }
    await this.db.query(`DELETE FROM spans_quarantine WHERE quarantined_at < $1`, [new Date(oldest)]);
    this.bytes = bytes;
    await this.reads.settleRuns();
  }

  private async size(): Promise<number> {
    const [row] = await this.db.query<{ bytes: number }[]>(selectSize);
    return row?.bytes ?? 0;
  }
}
