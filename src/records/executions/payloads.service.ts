import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Problem } from '../../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { Principal } from '../../tool-contract/principal.js';
import type { CapturedPayload } from './execution-record.js';
import type { ExecutionView, PayloadView } from './tool-metrics.dto.js';

const portion = 5_000;
const deletePortion = `
  DELETE FROM execution_payloads
  WHERE metric_id IN (SELECT metric_id FROM execution_payloads WHERE recorded_at <= $1 LIMIT ${portion})`;
const selectPayload = `
  SELECT payload, recorded_at AS "recordedAt" FROM execution_payloads WHERE metric_id = $1 AND recorded_at > $2`;
const selectPreviews = `
  SELECT metric_id AS id, preview FROM execution_payloads WHERE metric_id = ANY ($1::uuid[]) AND recorded_at > $2`;

/** Captured inputs and answers of executions, written by the journal's drain. */
@Injectable()
export class PayloadsService {
  private readonly ttlMs: number;

  constructor(
    @InjectDataSource() private readonly db: DataSource,
    @Inject(APP_CONFIG) { recorder }: Pick<AppConfig, 'recorder'>,
  ) {
    this.ttlMs = recorder.captureTtlMs;
  }

  /** @param id UUID of an execution that exists */
  async find(id: string): Promise<PayloadView | undefined> {
    const found = await this.db.query<{ payload: string; recordedAt: Date }[]>(selectPayload, [
      id,
      this.oldest(),
    ]);
    const [row] = found;
    if (!row) return undefined;
    const { omitted = [], redacted = false, ...parts } = JSON.parse(row.payload) as CapturedPayload;
    const keptUntil = new Date(row.recordedAt.getTime() + this.ttlMs).toISOString();
    return { executionId: id, ...parts, omitted, redacted, keptUntil };
  }

  /** @throws Problem `not_found` */
  async get({ metricId: id, toolName }: Pick<ExecutionView, 'metricId' | 'toolName'>): Promise<PayloadView> {
    const payload = await this.find(id);
    if (payload) return payload;
    throw new Problem(
      'not_found',
      `No input and result of execution ${id} are kept: ${toolName} did not capture them (its \`capture\`), or their time is over (CAPTURE_TTL_HOURS)`,
    );
  }

  /** Adds inputs in one line to a list, only for callers who may register tools. */
  async withPreviews(rows: readonly ExecutionView[], caller: Principal): Promise<ExecutionView[]> {
    if (!caller.scopes.has('tools:admin') || rows.length === 0) return [...rows];
    const ids = rows.map(({ metricId }) => metricId);
    const found = await this.db.query<{ id: string; preview: string }[]>(selectPreviews, [
      ids,
      this.oldest(),
    ]);
    const previews = new Map(found.map(({ id, preview }) => [id, preview]));
    return rows.map((row) => {
      const inputPreview = previews.get(row.metricId);
      return inputPreview === undefined ? row : { ...row, inputPreview };
    });
  }

  /** Deletes expired payloads in portions, each of which takes the database only a moment. */
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
