import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import type { CapturedPayload } from './captured-payload.js';

const portion = 5_000;
const deletePortion = `
  DELETE FROM execution_payloads
  WHERE metric_id IN (SELECT metric_id FROM execution_payloads WHERE recorded_at <= $1 LIMIT ${portion})`;

/** Executions' payloads, as long as they are kept; the journal's drain writes them. */
@Injectable()
export class PayloadsRepository {
  private readonly ttlMs: number;

  constructor(
    @InjectDataSource() private readonly db: DataSource,
    @Inject(APP_CONFIG) { recorder }: Pick<AppConfig, 'recorder'>,
  ) {
    this.ttlMs = recorder.captureTtlMs;
  }

  /** @param id a UUID */
  async find(id: string): Promise<(CapturedPayload & { readonly keptUntil: Date }) | undefined> {
    const [row] = await this.db.query<{ payload: string; recordedAt: Date }[]>(
      `SELECT payload, recorded_at AS "recordedAt" FROM execution_payloads WHERE metric_id = $1 AND recorded_at > $2`,
      [id, this.oldest()],
    );
    if (!row) return undefined;
    const keptUntil = new Date(row.recordedAt.getTime() + this.ttlMs);
    return { ...(JSON.parse(row.payload) as CapturedPayload), keptUntil };
  }

  /** Inputs in one line, by the ids of those executions that have one. */
  async previews(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.db.query<{ id: string; preview: string }[]>(
      'SELECT metric_id AS id, preview FROM execution_payloads WHERE metric_id = ANY ($1::uuid[]) AND recorded_at > $2',
      [ids, this.oldest()],
    );
    return new Map(rows.map(({ id, preview }) => [id, preview]));
  }

  /** In portions, each of which takes the database no more than a moment. */
  async deleteOld(): Promise<void> {
    const oldest = this.oldest();
    for (let deleted = portion; deleted === portion;) {
      [, deleted] = await this.db.query<[unknown, number]>(deletePortion, [oldest]);
    }
  }

  private oldest(): Date {
    return new Date(Date.now() - this.ttlMs);
  }
}
