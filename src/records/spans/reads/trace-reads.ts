import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { bulkhead } from 'cockatiel';
import type { DataSource } from 'typeorm';
import { DatabaseUnavailable } from '../../../base/common/errors.js';
import type { GroupFilters, Grouping } from './groups.sql.js';
import type { Statement } from '../../../base/database/statement.js';
import type { Page, SpanFilter } from './span-filter.sql.js';
import { SpanFigures } from './span-figures.js';
import * as sql from './spans.sql.js';
import { selectSummary } from './summary.sql.js';
import { type SpansSummary, summaryOf, type SummaryRow } from './summary.js';
import type * as views from './trace-views.dto.js';

/** The most spans of which a skeleton is drawn. */
const maxDrawn = 50_000;
/** The most spans of which a critical path is found. */
const maxTimed = 20_000;
/** How long one question may take: far more than it needs, and less than its caller waits. */
const maxMs = 20_000;
/** How long it waits for its turn: as long as for a connection. */
const maxWaitMs = 5_000;
/**
 * Many spans are sorted and joined in memory: on disk 200,000 of them take several times as long. The planner expects few
 * rows of what a statement has put aside, and would sort all of them at each level of a recursion to merge them.
 */
const inMemory = `SET LOCAL work_mem = '64MB'; SET LOCAL enable_mergejoin = off`;

/**
 * Reads spans, those that were sent and the executions of this server alike. Every question names
 * its project: nothing of another one is looked at.
 */
@Injectable()
export class TraceReads {
  /** Half of the connections: questions that take long leave the others to all else that the server does. */
  private readonly turns;
  private readonly spanFigures = new SpanFigures(
    (statement) => this.select(statement, inMemory),
    (work) => this.inTransaction(work, inMemory, 'REPEATABLE READ'),
  );

  constructor(@InjectDataSource() private readonly db: DataSource) {
    this.turns = bulkhead(Math.max(1, Math.floor((db.options.poolSize ?? 10) / 2)), Infinity);
  }

  async spans(
    filter: SpanFilter,
    page: sql.SpanPage,
    contents = true,
  ): Promise<views.Listed<views.SpanView>> {
    const data = await this.select<views.SpanView>(sql.selectSpans(filter, page, contents));
    const { length } = data;
    // A partial page reveals the total without a count.
    const total = length > 0 && length < page.limit ? page.offset + length : await this.countSpans(filter);
    return { data, pagination: { offset: page.offset, limit: page.limit, total } };
  }

  async countSpans(filter: SpanFilter): Promise<number> {
    const [row] = await this.select<{ total: number }>(sql.countSpans(filter));
    return row?.total ?? 0;
  }

  /** Runs as vLLora's clients know them. */
  async runs(filters: GroupFilters, page: Page): Promise<views.Listed<views.RunView>> {
    const { data, pagination } = await this.spanFigures.groups({ by: 'run' }, filters, page);
    return { data: data.map(({ key, run_ids: _, ...figures }) => ({ run_id: key, ...figures })), pagination };
  }

  async groups(
    grouping: Grouping,
    filters: GroupFilters,
    page: Page,
  ): Promise<views.Listed<views.GroupView>> {
    const { by: group_by } = grouping;
    const { data, pagination } = await this.spanFigures.groups(grouping, filters, page);
    const keyOf = (key: string): views.GroupKeyView =>
      group_by === 'time' ? { time_bucket: Number(key) } : { [`${group_by}_id`]: key };
    return {
      data: data.map(({ key, ...figures }) => ({ group_by, group_key: keyOf(key), ...figures })),
      pagination,
    };
  }

  /** Counts the runs of all projects that lost spans, or that an older server counted. */
  settleRuns(): Promise<void> {
    return this.spanFigures.settle();
  }

  async labels(
    filter: SpanFilter,
    limit: number,
  ): Promise<{ labels: { name: string; count: number }[]; total: number }> {
    const rows = await this.select<{ name: string; count: number; total: number }>(
      sql.selectLabels(filter, limit),
    );
    return { labels: rows.map(({ name, count }) => ({ name, count })), total: rows[0]?.total ?? 0 };
  }

  /** @returns where a span stands among those of the filter, by start, from 0; undefined if the filter leaves it out */
  async place(filter: SpanFilter, spanId: string): Promise<number | undefined> {
    const [row] = await this.select<{ place: number }>(sql.selectPlace(filter, spanId));
    return row?.place;
  }

  /** @returns each kind of id that it is, none for one that is unknown */
  byId(project: string, id: string): Promise<views.FoundIdView[]> {
    return this.select<views.FoundIdView>(sql.selectById(project, id));
  }

  /** @returns JSON; undefined if there is no span */
  async skeleton(filter: SpanFilter): Promise<string | undefined> {
    const [row] = await this.select<{ skeleton: string }>(sql.selectSkeleton(filter, maxDrawn), inMemory);
    return row?.skeleton;
  }

  /** One row without `bucketSeconds`, whose bucket means nothing. */
  figures(filter: SpanFilter, bucketSeconds?: number): Promise<views.BucketView[]> {
    return this.spanFigures.figures(filter, bucketSeconds);
  }

  /** @returns undefined for a run of which there is no span */
  async bottlenecks(filter: SpanFilter): Promise<Omit<views.BottlenecksView, 'run_id'> | undefined> {
    const spans = await this.select<TimedSpan>(sql.selectTimedSpans(filter, maxTimed));
    return spans.length > 0 ? bottlenecks(spans) : undefined;
  }

  async summary(filter: SpanFilter): Promise<SpansSummary> {
    const rows = await this.select<SummaryRow>(selectSummary(filter), inMemory);
    return summaryOf(rows);
  }

  /** @returns how many spans were deleted */
  async delete(filter: SpanFilter): Promise<number> {
    const [row] = await this.select<{ deleted: number }>(sql.deleteSpans(filter));
    return row?.deleted ?? 0;
  }

  private select<Row>(statement: Statement, settings = ''): Promise<Row[]> {
    return this.inTransaction((select) => select<Row>(statement), settings);
  }

  /** @throws DatabaseUnavailable where too many others take long, or as the database does */
  private inTransaction<T>(
    work: (select: <Row>(statement: Statement) => Promise<Row[]>) => Promise<T>,
    settings: string,
    isolation: 'READ COMMITTED' | 'REPEATABLE READ' = 'READ COMMITTED',
  ): Promise<T> {
    return this.inTurn(() =>
      this.db.transaction(isolation, async (db) => {
        await db.query(`SET LOCAL statement_timeout = ${maxMs}; ${settings}`);
        return work(<Row>({ text, values }: Statement) => db.query<Row[]>(text, values));
      }),
    );
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const waiting = Promise.withResolvers<never>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      waiting.reject(new DatabaseUnavailable('As many questions about spans as may at a time take long'));
    }, maxWaitMs);
    const done = this.turns.execute(() => {
      clearTimeout(timer);
      return isLate ? waiting.promise : work();
    });
    return Promise.race([waiting.promise, done]);
  }
}

/** A span on the clock; times in microseconds since the epoch. */
interface TimedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly operation: string;
  readonly start_us: number;
  readonly finish_us: number;
}

/**
 * The spans of a run on its critical path, the longest first. At every moment the run waits for one span: of those that
 * run, the one that ends last, and of its children again the one that ends last. Spans below themselves are left out.
 */
function bottlenecks(spans: readonly TimedSpan[]): { total_ms: number; data: views.BottleneckView[] } {
  const idOf = ({ trace_id, span_id }: Pick<TimedSpan, 'trace_id' | 'span_id'>): string =>
    `${trace_id} ${span_id}`;
  const known = new Set(spans.map(idOf));
  const parentOf = (span: TimedSpan): string => {
    const id = span.parent_span_id === null ? '' : `${span.trace_id} ${span.parent_span_id}`;
    return known.has(id) ? id : '';
  };
  const children = Map.groupBy(spans, parentOf);
  for (const list of children.values())
    list.sort((a, b) => b.finish_us - a.finish_us || a.start_us - b.start_us);
  const start = spans.reduce((first, { start_us }) => Math.min(first, start_us), Infinity);
  const finish = spans.reduce((last, { finish_us }) => Math.max(last, finish_us), -Infinity);
  const waited = new Map<TimedSpan, number>();
  // Backwards in time: a stretch is the span's own as far as no child of it reaches. A stack, for traces may be deep.
  const stretches: { span?: TimedSpan; from: number; to: number }[] = [{ from: start, to: finish }];
  for (let next = stretches.pop(); next; next = stretches.pop()) {
    const { span, from } = next;
    let { to } = next;
    for (const child of children.get(span ? idOf(span) : '') ?? []) {
      const [begins, ends] = [Math.max(child.start_us, from), Math.min(child.finish_us, to)];
      if (begins >= ends) continue;
      if (span) waited.set(span, (waited.get(span) ?? 0) + to - ends);
      stretches.push({ span: child, from: begins, to: ends });
      to = begins;
    }
    if (span) waited.set(span, (waited.get(span) ?? 0) + to - from);
  }
  const total = finish - start;
  const data = [...waited]
    .filter(([, us]) => us > 0)
    .sort(([a, us], [b, other]) => other - us || a.start_us - b.start_us || (a.span_id < b.span_id ? -1 : 1))
    .map(([{ span_id, trace_id, operation }, us]) => ({
      span_id,
      trace_id,
      operation,
      self_ms: Math.round(us / 1_000),
      percent_of_total: Math.round((us / total) * 1_000) / 10,
    }));
  return { total_ms: Math.round(total / 1_000), data };
}
