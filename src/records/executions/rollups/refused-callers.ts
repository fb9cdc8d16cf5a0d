import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { CallEvents } from '../../../web/contract/call-events.js';
import { directSlot } from '../execution-record.js';
import { CallerCap } from './caller-cap.js';
import { addRefusals, codeCellLength, otherCallers, selectRefusals } from './callers.sql.js';

/** Interval of writes to the database. */
const writeEveryMs = 10_000;

/** Number of refusals with the same code. */
interface RefusalCount {
  readonly code: string;
  readonly count: number;
}

/** Counts refused calls by caller and by code. They have no record, so counts of the last moment are lost in a crash. */
@Injectable()
export class RefusedCallers implements OnApplicationShutdown {
  /** Counts that are not written yet, by cell: time, tool, project, caller and code, in JSON. */
  private waiting = new Map<string, number>();
  private writing: Promise<void> = Promise.resolve();
  private readonly writer = new IntervalLoop(
    () => this.flush(),
    writeEveryMs,
    (error) => new Logger(RefusedCallers.name).warn(error, 'refusals wait for the database'),
  );

  constructor(
    events: CallEvents,
    @InjectDataSource() private readonly db: DataSource,
  ) {
    const cap = new CallerCap();
    events.subscribe('refused', ({ tool, refusal, context: { userId, projectId } }) => {
      const now = Date.now();
      const caller = cap.admit(tool, userId, now) ? sanitisedText(userId) : otherCallers;
      // The start of the time's cell, so that all refusals in it are counted together.
      const at = new Date(now - (now % (codeCellLength * 1_000)));
      this.add(JSON.stringify([at, tool, sanitisedText(projectId), caller, refusal.code]), 1);
    });
    this.writer.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.writer.stop();
    await this.flush().catch(() => undefined);
  }

  /** Writes all waiting counts after the running write. @throws the database's error */
  flush(): Promise<void> {
    this.writing = this.writing.catch(() => undefined).then(() => this.write());
    return this.writing;
  }

  /** Refused calls of all replicas since a moment, by tool; the most frequent code first. @param projects default: all */
  async since(
    moment: Date,
    projects?: readonly string[],
  ): Promise<ReadonlyMap<string, readonly RefusalCount[]>> {
    await this.flush();
    const values = [moment, projects?.map(sanitisedText)];
    const rows = await this.db.query<{ tool: string; counts: RefusalCount[] }[]>(selectRefusals, values);
    return new Map(rows.map(({ tool, counts }) => [tool, counts]));
  }

  private add(cell: string, count: number): void {
    this.waiting.set(cell, (this.waiting.get(cell) ?? 0) + count);
  }

  private async write(): Promise<void> {
    if (this.waiting.size === 0) return;
    const cells = this.waiting;
    this.waiting = new Map();
    const rows = [...cells].map(([cell, count]) => [...(JSON.parse(cell) as string[]), count]);
    // Time, tool, project, caller, code and count, as `addRefusals` takes them.
    const columns = [0, 1, 2, 3, 4, 5].map((column) => rows.map((row) => row[column]));
    try {
      await this.db.query(addRefusals, [...columns, directSlot]);
    } catch (error) {
      for (const [cell, count] of cells) this.add(cell, count);
      throw error;
    }
  }
}
