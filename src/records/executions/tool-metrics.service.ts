import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { dayMs } from '../../base/common/clock.js';
import { invalidRequest, Problem } from '../../base/common/errors.js';
import { keyIn, type Page, pageFrom } from '../../web/rest/page.js';
import type { Principal, Reader } from '../../web/contract/principal.js';
import { ExecutionRecorder } from './execution-recorder.js';
import type * as dto from './tool-metrics.dto.js';
import type { PagePosition } from './queries/tool-metrics.sql.js';
import { seriesFigures, seriesPoints, seriesRange } from './queries/tool-figures.js';
import { assertCountable, ToolMetricsRepository } from './tool-metrics.repository.js';
import { type CallersFilter, isCountedFromExecutions } from './queries/callers.sql.js';
import { RefusedCallers } from './rollups/refused-callers.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import type { CapturedPayload } from './execution-record.js';

/** Max payloads that one statement deletes. */
const batchSize = 5_000;
/** Parameters: time up to which payloads are deleted. */
const deleteBatch = `
  DELETE FROM execution_payloads
  WHERE metric_id IN (SELECT metric_id FROM execution_payloads WHERE recorded_at <= $1 LIMIT ${batchSize})`;
const selectPayload = `
  SELECT payload, recorded_at AS "recordedAt" FROM execution_payloads WHERE metric_id = $1 AND recorded_at > $2`;
const selectPreviews = `
  SELECT metric_id AS id, preview FROM execution_payloads WHERE metric_id = ANY ($1::uuid[]) AND recorded_at > $2`;

/** Executions, captured payloads and statistics for REST. The journal's drain writes payloads: see UpToDateInterceptor. */
@Injectable()
export class ToolMetricsService {
  private readonly captureTtlMs: number;

  constructor(
    private readonly repository: ToolMetricsRepository,
    private readonly recorder: ExecutionRecorder,
    @InjectDataSource() private readonly db: DataSource,
    private readonly refused: RefusedCallers,
    @Inject(APP_CONFIG) { recorder: { captureTtlMs } }: Pick<AppConfig, 'recorder'>,
  ) {
    this.captureTtlMs = captureTtlMs;
  }

  async stats(tool: string, { since, until }: dto.PeriodQuery, caller: Reader): Promise<dto.ToolStatsView> {
    assertInOrder(since, until);
    return this.repository.within(caller).getToolStats(tool, { since, until });
  }

  async series({ tool, ...query }: dto.SeriesQuery, caller: Reader): Promise<dto.SeriesView> {
    const range = seriesRange(query);
    assertCountable(caller, query.since ?? range.to, query.until ?? new Date());
    const rows = await this.repository.within(caller).getSeries(range, tool);
    return { bucketMs: range.bucketMs, total: seriesFigures(rows), data: seriesPoints(range, rows) };
  }

  async errors({ tool, limit }: dto.ErrorsQuery, caller: Principal): Promise<Page<dto.ExecutionView>> {
    const rows = await this.repository.within(caller).getRecentErrors(tool, limit);
    return { data: await this.withPreviews(rows, caller), nextCursor: null };
  }

  async slow({ thresholdMs, limit }: dto.SlowQuery, caller: Principal): Promise<Page<dto.ExecutionView>> {
    const rows = await this.repository.within(caller).getSlowExecutions(thresholdMs, limit);
    return { data: await this.withPreviews(rows, caller), nextCursor: null };
  }

  async executions(
    { limit, cursor, ...filter }: dto.ExecutionsQuery,
    caller: Principal,
  ): Promise<Page<dto.ExecutionView>> {
    assertInOrder(filter.since, filter.until);
    const after = keyIn(cursor, positionOf);
    const rows = await this.repository.within(caller).getExecutions({ ...filter, limit: limit + 1, after });
    const { data, nextCursor } = pageFrom(rows, keyOf, limit);
    return { data: await this.withPreviews(data, caller), nextCursor };
  }

  /** The captured input and answer of an execution. @throws Problem `not_found` */
  async payload(id: string, caller: Reader): Promise<dto.PayloadView> {
    const { metricId, toolName } = await this.execution(id, caller);
    const payload = await this.findPayload(metricId);
    if (payload) return payload;
    throw new Problem(
      'not_found',
      `No input and result of execution ${id} are stored: ${toolName} did not capture them (its \`capture\`), or their retention has ended (CAPTURE_TTL_HOURS)`,
    );
  }

  /** The captured payload, if any. @param id UUID of an existing execution */
  async findPayload(id: string): Promise<dto.PayloadView | undefined> {
    const values = [id, this.oldestPayload()];
    const [row] = await this.db.query<{ payload: string; recordedAt: Date }[]>(selectPayload, values);
    if (!row) return undefined;
    const { omitted = [], redacted = false, ...parts } = JSON.parse(row.payload) as CapturedPayload;
    const keptUntil = new Date(row.recordedAt.getTime() + this.captureTtlMs).toISOString();
    return { executionId: id, ...parts, omitted, redacted, keptUntil };
  }

  /** An execution, with its input in one line if it was captured and the caller may see it. @throws Problem `not_found` */
  async executionFor(id: string, caller: Principal): Promise<dto.ExecutionView> {
    const execution = await this.execution(id, caller);
    const [withPreview = execution] = await this.withPreviews([execution], caller);
    return withPreview;
  }

  /** An execution in the caller's projects. @throws Problem `not_found` */
  async execution(id: string, caller: Reader = {}): Promise<dto.ExecutionView> {
    const repository = this.repository.within(caller);
    return this.onceStored(id, () => repository.getExecution(id));
  }

  /** Marks a wrong answer. @param reason null removes the mark @returns the execution's project @throws Problem `not_found` */
  async markSemanticFailure(
    id: string,
    reason: string | null,
    caller: Partial<Pick<Principal, 'projects' | 'userId'>> = {},
  ): Promise<string> {
    const repository = this.repository.within(caller);
    return this.onceStored(id, () => repository.markSemanticFailure(id, reason, caller.userId));
  }

  /** Calls, failures and refusals by caller, by default of the last 24 hours. @throws Problem `invalid_request` */
  async callers(query: dto.CallersQuery, caller: Reader): Promise<Page<dto.CallersView>> {
    const filter = { ...query, ...periodOf(query) };
    assertReadable(filter);
    await this.refused.flush();
    return { data: await this.repository.within(caller).getCallers(filter), nextCursor: null };
  }

  /** Duplicate calls, by default of the last 24 hours. */
  async duplicates(query: dto.DuplicatesQuery, caller: Reader): Promise<Page<dto.DuplicatesView>> {
    const filter = { ...query, ...periodOf(query) };
    return { data: await this.repository.within(caller).getDuplicates(filter), nextCursor: null };
  }

  async tools(): Promise<Page<string>> {
    return { data: await this.repository.getAllToolNames(), nextCursor: null };
  }

  async cleanup({ olderThanDays }: dto.CleanupQuery): Promise<{ deleted: number }> {
    return { deleted: await this.repository.cleanupOldMetrics(olderThanDays) };
  }

  /** Deletes expired payloads in batches, so that no statement takes long. */
  async deleteOldPayloads(): Promise<void> {
    const oldest = this.oldestPayload();
    for (let deleted = batchSize; deleted === batchSize;)
      [, deleted] = await this.db.query<[unknown, number]>(deleteBatch, [oldest]);
  }

  /**
   * Adds inputs in one line to a list, only for callers who may register tools. Removes the end of stderr for keys of some
   * projects, because it may contain output of other projects' calls.
   */
  private async withPreviews(
    rows: readonly dto.ExecutionView[],
    caller: Principal,
  ): Promise<dto.ExecutionView[]> {
    if (!caller.scopes.has('tools:admin')) return caller.projects ? rows.map(withoutStderr) : [...rows];
    if (rows.length === 0) return [];
    const values = [rows.map(({ metricId }) => metricId), this.oldestPayload()];
    const stored = await this.db.query<{ id: string; preview: string }[]>(selectPreviews, values);
    const previews = new Map(stored.map(({ id, preview }) => [id, preview]));
    return rows.map((row) => {
      const inputPreview = previews.get(row.metricId);
      return inputPreview === undefined ? row : { ...row, inputPreview };
    });
  }

  /** Time of the oldest payload that is not expired. */
  private oldestPayload(): Date {
    return new Date(Date.now() - this.captureTtlMs);
  }

  /** Queries an execution; if it is not stored, again after all records so far are. @throws Problem `not_found` */
  private async onceStored<T>(id: string, query: () => Promise<T | undefined>): Promise<T> {
    let found = await query();
    if (found === undefined) {
      await this.recorder.flush().catch(() => undefined);
      found = await query();
    }
    if (found !== undefined) return found;
    throw new Problem('not_found', `There is no execution ${JSON.stringify(id)}`);
  }
}

/** @throws Problem `invalid_request` */
function assertInOrder(since: Date | undefined, until: Date | undefined): void {
  if (!since || !until || since <= until) return;
  throw invalidRequest({ pointer: '/since', detail: 'must not be after until' });
}

/** The period of a query, by default the last 24 hours. @throws Problem `invalid_request` */
function periodOf({ since, until = new Date() }: dto.PeriodQuery): { since: Date; until: Date } {
  assertInOrder(since, until);
  return { since: since ?? new Date(until.getTime() - dayMs), until };
}

/** Limits queries that read single executions to one tool and a day. @throws Problem `invalid_request` */
function assertReadable({ by, tool, since, until }: CallersFilter): void {
  if (!isCountedFromExecutions(by)) return;
  if (tool === undefined) throw invalidRequest({ pointer: '/tool', detail: `is needed with by=${by}` });
  const detail = `may be at most 24 hours before until with by=${by}: single executions are counted`;
  if (until.getTime() - since.getTime() > dayMs) throw invalidRequest({ pointer: '/since', detail });
}

/** The key of a position, for a cursor. */
const keyOf = ({ recordedAt, metricId }: PagePosition): string => `${recordedAt.toISOString()}|${metricId}`;

/** The form of such a key. */
const keyPattern =
  /^(?<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|(?<id>[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

/** The position of a key; undefined if the key is invalid. */
function positionOf(key: string): PagePosition | undefined {
  const { at = '', id = '' } = keyPattern.exec(key)?.groups ?? {};
  const recordedAt = new Date(at);
  return Number.isNaN(recordedAt.getTime()) ? undefined : { recordedAt, metricId: id };
}

function withoutStderr(row: dto.ExecutionView): dto.ExecutionView {
  const { stderrTail: _, ...metadata } = row.metadata;
  return { ...row, metadata };
}
