import { Injectable } from '@nestjs/common';
import { dayMs } from '../../common/clock.js';
import { invalidRequest, Problem } from '../../common/errors.js';
import { keyIn, type Page, pageFrom } from '../../rest/page.js';
import type { Principal } from '../../tool-contract/principal.js';
import { ExecutionRecorder } from './execution-recorder.js';
import { PayloadsService } from './payloads.service.js';
import type {
  CleanupQuery,
  DuplicatesQuery,
  DuplicatesView,
  ErrorsQuery,
  ExecutionsQuery,
  ExecutionView,
  PayloadView,
  PeriodQuery,
  SeriesQuery,
  SeriesView,
  SlowQuery,
  ToolStatsView,
} from './tool-metrics.dto.js';
import type { PagePosition } from './queries/tool-metrics.sql.js';
import { seriesPoints, seriesRange } from './queries/series.js';
import { ToolMetricsRepository } from './tool-metrics.repository.js';

/** The executions and their statistics, as REST asks for them (see UpToDateInterceptor). */
@Injectable()
export class ToolMetricsService {
  constructor(
    private readonly repository: ToolMetricsRepository,
    private readonly recorder: ExecutionRecorder,
    private readonly payloads: PayloadsService,
  ) {}

  async stats(tool: string, { since, until }: PeriodQuery): Promise<ToolStatsView> {
    assertInOrder(since, until);
    return this.repository.getToolStats(tool, { since, until });
  }

  async series({ tool, ...query }: SeriesQuery): Promise<SeriesView> {
    const range = seriesRange(query);
    const rows = await this.repository.getSeries(range, tool);
    return { bucketMs: range.bucketMs, data: seriesPoints(range, rows) };
  }

  async errors({ tool, limit }: ErrorsQuery, caller: Principal): Promise<Page<ExecutionView>> {
    const rows = await this.repository.getRecentErrors(tool, limit);
    return { data: await this.payloads.withPreviews(rows, caller), nextCursor: null };
  }

  async slow({ thresholdMs, limit }: SlowQuery, caller: Principal): Promise<Page<ExecutionView>> {
    const rows = await this.repository.getSlowExecutions(thresholdMs, limit);
    return { data: await this.payloads.withPreviews(rows, caller), nextCursor: null };
  }

  async executions(
    { limit, cursor, ...filter }: ExecutionsQuery,
    caller: Principal,
  ): Promise<Page<ExecutionView>> {
    assertInOrder(filter.since, filter.until);
    const after = keyIn(cursor, positionOf);
    const rows = await this.repository.getExecutions({ ...filter, limit: limit + 1, after });
    const { data, nextCursor } = pageFrom(rows, keyOf, limit);
    return { data: await this.payloads.withPreviews(data, caller), nextCursor };
  }

  /** @throws Problem `not_found` */
  async payload(id: string): Promise<PayloadView> {
    return this.payloads.get(await this.execution(id));
  }

  /** With its input in one line, where that was captured and the caller may see it. @throws Problem `not_found` */
  async executionFor(id: string, caller: Principal): Promise<ExecutionView> {
    const execution = await this.execution(id);
    const [withPreview = execution] = await this.payloads.withPreviews([execution], caller);
    return withPreview;
  }

  /** @throws Problem `not_found` */
  async execution(id: string): Promise<ExecutionView> {
    const find = (): Promise<ExecutionView | undefined> => this.repository.getExecution(id);
    const metric = (await find()) ?? (await this.flush().then(find));
    if (!metric) throw noSuchExecution(id);
    return metric;
  }

  /** @param reason null takes the mark back @throws Problem `not_found` */
  async markSemanticFailure(id: string, reason: string | null): Promise<void> {
    const mark = (): Promise<boolean> => this.repository.markSemanticFailure(id, reason);
    if (!((await mark()) || (await this.flush().then(mark)))) throw noSuchExecution(id);
  }

  /** The duplicates of the last 24 hours unless told otherwise. */
  async duplicates({ since, until = new Date(), ...of }: DuplicatesQuery): Promise<Page<DuplicatesView>> {
    assertInOrder(since, until);
    const range = { since: since ?? new Date(until.getTime() - dayMs), until };
    return { data: await this.repository.getDuplicates({ ...of, ...range }), nextCursor: null };
  }

  async tools(): Promise<Page<string>> {
    return { data: await this.repository.getAllToolNames(), nextCursor: null };
  }

  async cleanup({ olderThanDays }: CleanupQuery): Promise<{ deleted: number }> {
    return { deleted: await this.repository.cleanupOldMetrics(olderThanDays) };
  }

  /** Nothing that ended before waits for the database any more, unless that is away. */
  private async flush(): Promise<void> {
    await this.recorder.flush().catch(() => undefined);
  }
}

const noSuchExecution = (id: string): Problem =>
  new Problem('not_found', `There is no execution ${JSON.stringify(id)}`);

/** @throws Problem `invalid_request` */
function assertInOrder(since: Date | undefined, until: Date | undefined): void {
  if (!since || !until || since <= until) return;
  throw invalidRequest({ pointer: '/since', detail: 'must not be after until' });
}

const keyOf = ({ recordedAt, metricId }: PagePosition): string => `${recordedAt.toISOString()}|${metricId}`;

const position =
  /^(?<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|(?<id>[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

function positionOf(key: string): PagePosition | undefined {
  const { at = '', id = '' } = position.exec(key)?.groups ?? {};
  const recordedAt = new Date(at);
  return Number.isNaN(recordedAt.getTime()) ? undefined : { recordedAt, metricId: id };
}
