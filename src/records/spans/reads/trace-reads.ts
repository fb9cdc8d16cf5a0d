import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { bulkhead } from 'cockatiel';
import type { DataSource } from 'typeorm';
import { DatabaseUnavailable } from '../../../base/common/errors.js';
import type { Statement } from '../../../base/database/statement.js';
import type { GroupFilters, Grouping } from './groups.sql.js';
import type { Page, SpanFilter } from './span-filter.sql.js';
import { SpanFigures } from './span-figures.js';
import * as sql from './spans.sql.js';
import { selectSummary } from './summary.sql.js';
import { type SpansSummary, summaryOf, type SummaryRow } from './summary.js';
import type * as views from './trace-views.dto.js';

/** Max spans of a skeleton. */
const maxSkeletonSpans = 50_000;
/** Max spans in which a critical path is searched. */
const maxPathSpans = 20_000;
/** Timeout of a statement: far longer than it needs, but shorter than its caller waits. */
const maxMs = 20_000;
/** Max time for which a read waits for its turn: as long as for a connection. */
const maxWaitMs = 5_000;
/**
 * Settings of statements over many spans. They sort and join in memory, because 200,000 spans take several times as long on
 * disk. Merge joins are off, because the planner expects few rows of a CTE, and would sort all of them at each level of a
 * recursion.
 */
const inMemory = `SET LOCAL work_mem = '64MB'; SET LOCAL enable_mergejoin = off`;

/** Reads spans: those that were sent, and the executions of this server. Each read is limited to one project. */
@Injectable()
export class TraceReads {
  /** Limits reads, which may be slow, to half of the connections. The others remain for the rest of the server. */
  private readonly turns;
  private readonly spanFigures = new SpanFigures(
    (statement) => this.select(statement, inMemory),
    (work) => this.inTransaction(work, inMemory, 'REPEATABLE READ'),
  );

  constructor(@InjectDataSource() private readonly db: DataSource) {
    this.turns = bulkhead(Math.max(1, Math.floor((db.options.poolSize ?? 10) / 2)), Infinity);
  }

  /** One page of spans, with the number of all that match. */
  async spans(filter: SpanFilter, page: sql.SpanPage): Promise<views.Listed<views.SpanView>> {
    const data = await this.select<views.SpanView>(sql.selectSpans(filter, page));
    const { length } = data;
    // A partial page reveals the total without a count.
    const total = length > 0 && length < page.limit ? page.offset + length : await this.countSpans(filter);
    return { data, pagination: { offset: page.offset, limit: page.limit, total } };
  }

  async countSpans(filter: SpanFilter): Promise<number> {
    const [row] = await this.select<{ total: number }>(sql.countSpans(filter));
    return row?.total ?? 0;
  }

  /** Runs with their figures, in the form that vLLora's clients know. */
  async runs(filters: GroupFilters, page: Page): Promise<views.Listed<views.RunView>> {
    const { data, pagination } = await this.spanFigures.groups({ by: 'run' }, filters, page);
    return { data: data.map(({ key, run_ids: _, ...figures }) => ({ run_id: key, ...figures })), pagination };
  }

  /** Groups of spans with their figures, the newest first. */
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

  /** Updates the figures of runs of all projects that lost spans, or that an older server counted. */
  settleRuns(): Promise<void> {
    return this.spanFigures.settle();
  }

  /** Labels with the number of their spans, the most frequent first, and the number of all labels. */
  async labels(
    filter: SpanFilter,
    limit: number,
  ): Promise<{ labels: { name: string; count: number }[]; total: number }> {
    const rows = await this.select<{ name: string; count: number; total: number }>(
      sql.selectLabels(filter, limit),
    );
    return { labels: rows.map(({ name, count }) => ({ name, count })), total: rows[0]?.total ?? 0 };
  }

  /** The position of a span among those of the filter, by start, from 0; undefined if the filter excludes the span. */
  async position(filter: SpanFilter, spanId: string): Promise<number | undefined> {
    const [row] = await this.select<{ position: number }>(sql.selectPosition(filter, spanId));
    return row?.position;
  }

  /** Each kind of id that an id is, with the first span that has it. */
  byId(project: string, id: string): Promise<views.FoundIdView[]> {
    return this.select<views.FoundIdView>(sql.selectById(project, id));
  }

  /** The JSON of a `SkeletonView`; undefined without spans. */
  async skeleton(filter: SpanFilter): Promise<string | undefined> {
    const [row] = await this.select<{ skeleton: string }>(
      sql.selectSkeleton(filter, maxSkeletonSpans),
      inMemory,
    );
    return row?.skeleton;
  }

  /** Figures by bucket; without `bucketSeconds` one row with the figures of all spans, whose bucket is null. */
  figures(filter: SpanFilter, bucketSeconds?: number): Promise<views.BucketView[]> {
    return this.spanFigures.figures(filter, bucketSeconds);
  }

  /** The spans for which a run waited; undefined without spans. */
  async bottlenecks(filter: SpanFilter): Promise<Omit<views.BottlenecksView, 'run_id'> | undefined> {
    const spans = await this.select<TimedSpan>(sql.selectTimedSpans(filter, maxPathSpans));
    return spans.length > 0 ? bottlenecks(spans) : undefined;
  }

  /** A summary of spans for agents. */
  async summary(filter: SpanFilter): Promise<SpansSummary> {
    const rows = await this.select<SummaryRow>(selectSummary(filter), inMemory);
    return summaryOf(rows);
  }

  /** Deletes spans that were sent. @returns the number of deleted spans */
  async delete(filter: SpanFilter): Promise<number> {
    const [row] = await this.select<{ deleted: number }>(sql.deleteSpans(filter));
    return row?.deleted ?? 0;
  }

  /** All projects that have spans or executions, by name. */
  async projects(): Promise<string[]> {
    const rows = await this.select<{ project: string }>(sql.selectProjects);
    return rows.map(({ project }) => project);
  }

  private select<Row>(statement: Statement, settings = ''): Promise<Row[]> {
    return this.inTransaction((select) => select<Row>(statement), settings);
  }

  /** Runs statements in a transaction with timeouts. @throws DatabaseUnavailable if too many slow reads run, or without a database */
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

  /** Runs work when it is its turn, unless its caller has waited too long by then. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const timeout = Promise.withResolvers<never>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      timeout.reject(new DatabaseUnavailable('Too many reads of spans take long'));
    }, maxWaitMs);
    const result = this.turns.execute(() => {
      clearTimeout(timer);
      return isLate ? timeout.promise : work();
    });
    return Promise.race([timeout.promise, result]);
  }
}

/** A row of `selectTimedSpans`. Times are in microseconds since the epoch. */
interface TimedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly operation: string;
  readonly start_us: number;
  readonly finish_us: number;
}

/**
 * The spans on the critical path of a run, those with the longest own time first. At any moment the run waits for one span:
 * from the roots down, at each level for the running span that ends last. Cycles of spans cannot be reached from a root, so
 * they are left out.
 */
function bottlenecks(spans: readonly TimedSpan[]): { total_ms: number; data: views.BottleneckView[] } {
  const idOf = ({ trace_id, span_id }: Pick<TimedSpan, 'trace_id' | 'span_id'>): string =>
    `${trace_id} ${span_id}`;
  const ids = new Set(spans.map(idOf));
  /** The id of the parent; empty for a root. */
  const parentIdOf = (span: TimedSpan): string => {
    const id = span.parent_span_id === null ? '' : `${span.trace_id} ${span.parent_span_id}`;
    return ids.has(id) ? id : '';
  };
  const children = Map.groupBy(spans, parentIdOf);
  for (const list of children.values())
    list.sort((a, b) => b.finish_us - a.finish_us || a.start_us - b.start_us);
  const start = spans.reduce((first, { start_us }) => Math.min(first, start_us), Infinity);
  const finish = spans.reduce((last, { finish_us }) => Math.max(last, finish_us), -Infinity);
  /** The time for which the run waited for each span itself. */
  const ownUs = new Map<TimedSpan, number>();
  const addOwn = (span: TimedSpan | undefined, us: number): void => {
    if (span) ownUs.set(span, (ownUs.get(span) ?? 0) + us);
  };
  // Stretches of time in which the run waits for a span or its children; without a span, for the roots. Each is walked
  // backwards: time after the last child's end is the span's own. A stack instead of recursion, because traces may be deep.
  const stretches: { span?: TimedSpan; from: number; to: number }[] = [{ from: start, to: finish }];
  for (let next = stretches.pop(); next; next = stretches.pop()) {
    const { span, from } = next;
    let { to } = next;
    for (const child of children.get(span ? idOf(span) : '') ?? []) {
      const [begins, ends] = [Math.max(child.start_us, from), Math.min(child.finish_us, to)];
      if (begins >= ends) continue;
      addOwn(span, to - ends);
      stretches.push({ span: child, from: begins, to: ends });
      to = begins;
    }
    addOwn(span, to - from);
  }
  const total = finish - start;
  const data = [...ownUs]
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
