import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import type { DataSource } from 'typeorm';
import { dayMs, minuteMs } from '../../base/common/clock.js';
import { Problem } from '../../base/common/errors.js';
import type { Reader } from '../../web/contract/principal.js';
import { isUuid, timeOfId } from '../../base/common/ids.js';
import { directSlot, externalSlot, insertBatch, type ToolMetric } from './execution-record.js';
import { sanitisedText } from '../../base/common/pg-text.js';
import type { CallersView, DuplicatesView, ExecutionView, ToolStatsView } from './tool-metrics.dto.js';
import * as sql from './queries/tool-metrics.sql.js';
import { type CallersFilter, selectCallers } from './queries/callers.sql.js';
import { MetricPartitions } from './rollups/metric-partitions.js';
import type { Statement } from '../../base/database/statement.js';
import {
  type CountsWanted,
  periodParts,
  selectCounts,
  selectSeries,
  selectTrends,
  type SeriesRange,
} from './rollups/rollup.sql.js';
import {
  type CountedRow,
  emptyStats,
  figuresOf,
  filledStats,
  type FleetFigures,
  latencyOf,
  type Trend,
  type TrendRow,
  type SeriesRow,
} from './queries/tool-figures.js';

/** An ended execution, as a circuit counts it. `at` is the end. */
interface FaultSample {
  readonly tool: string;
  readonly at: Date;
  readonly fault: boolean;
}

/** The last use of a tool. */
interface LastUse {
  readonly toolName: string;
  /** Milliseconds since the epoch; null if it was on an earlier day than the queried one. */
  readonly lastUsed: number | null;
}

/** An execution whose mark was set or removed. `isNew`: it has a mark and had no finding before. */
type MarkedExecution = Readonly<{ project: string; tool: string; isNew: boolean }>;

/** Name of the counter of executions whose answer reports an error, or that were marked as wrong. */
export const findingsName = 'toolkeeper_semantic_findings_total';

/** The outcome of an execution. */
export type RecentOutcome = Pick<ToolMetric, 'status' | 'errorMessage' | 'recordedAt'>;

/** Executions that took longer may be missing in the samples of a circuit, although they ended in its window. */
const maxExecutionTime = '10 minutes';

/** Max time between the creation of an execution's id and its start. */
const maxAdmissionMs = 60_000;

/** Max executions that are counted around the newest failure of a tool. */
const maxCountedAround = 1_000;

/** The stored executions. Time bounds are inclusive; lists are newest first. */
@Injectable()
export class ToolMetricsRepository {
  /** Projects to which reads are limited. Undefined: all. */
  readonly projects?: readonly string[];

  constructor(
    @InjectDataSource() private readonly db: DataSource,
    @InjectMetric(findingsName) private readonly findings?: Counter,
  ) {}

  /** A repository that reads only the caller's projects. It counts figures from rows, so only for up to a day. */
  within({ projects }: Reader): ToolMetricsRepository {
    return projects ? Object.assign(new ToolMetricsRepository(this.db, this.findings), { projects }) : this;
  }

  /** Stores an execution, unless its id is stored already. */
  async record(metric: ToolMetric): Promise<ToolMetric> {
    await insertBatch(this.db, [metric], metric.metadata['external'] === true ? externalSlot : directSlot);
    return metric;
  }

  /** Figures of one tool, by default of the last 24 hours. A period without calls has the short form. */
  async getToolStats(tool: string, range: { since?: Date; until?: Date } = {}): Promise<ToolStatsView> {
    const until = range.until ?? new Date();
    const since = range.since ?? new Date(until.getTime() - dayMs);
    const period = { since: since.toISOString(), until: until.toISOString() };
    if (since > until) return emptyStats(tool, period);
    const rows = await this.counts(since, until, { latency: true, tools: [tool] });
    return rows.length > 0 ? filledStats(tool, rows, period) : emptyStats(tool, period);
  }

  /** Figures by tool name, from one snapshot. Tools without calls in the period are absent. */
  async getFigures(since: Date, until: Date, wanted: CountsWanted): Promise<Map<string, FleetFigures>> {
    if (since > until) return new Map();
    const byTool = Map.groupBy(await this.counts(since, until, wanted), ({ toolName }) => toolName);
    const figures = [...byTool].map(
      ([tool, rows]) => [tool, { ...figuresOf(rows), ...(wanted.latency && latencyOf(rows)) }] as const,
    );
    return new Map(figures);
  }

  /** The time series of one tool, or of all tools together. */
  async getSeries(range: SeriesRange, tool?: string): Promise<SeriesRow[]> {
    return this.run<SeriesRow>(selectSeries({ ...range, projects: this.projects }, tool));
  }

  /** Calls and failures by tool (default: all with calls) and bucket. The last of the `points` buckets is not over yet. */
  async getTrends(
    until: Date,
    bucketMs: number,
    points: number,
    tools?: readonly string[],
  ): Promise<Map<string, Trend>> {
    const to = (Math.floor(until.getTime() / bucketMs) + 1) * bucketMs;
    const from = new Date(to - points * bucketMs);
    assertCountable(this, from, new Date(to));
    const range = { from, to: new Date(to), bucketMs, projects: this.projects };
    const zeros = (): number[] => Array.from({ length: points }, () => 0);
    const trends = new Map<string, Trend>();
    for (const row of await this.run<TrendRow>(selectTrends(range, tools))) {
      const { toolName, at, calls, failures, callerErrors } = row;
      const trend = trends.get(toolName) ?? { calls: zeros(), failures: zeros(), callerErrors: zeros() };
      trends.set(toolName, trend);
      trend.calls[at] = calls;
      trend.failures[at] = failures;
      trend.callerErrors[at] = callerErrors;
    }
    return trends;
  }

  /** Errors and timeouts, of one tool or of all. */
  async getRecentErrors(tool?: string, limit = 10): Promise<ExecutionView[]> {
    return this.getExecutions({ failed: true, tool, limit });
  }

  /** Names of all tools with executions, test calls included; sorted. */
  async getAllToolNames(): Promise<string[]> {
    const rows = await this.select<{ toolName: string }>(sql.selectToolNames);
    return rows.map((row) => row.toolName);
  }

  /** Start of each tool's newest execution, test calls excluded. */
  async getLastUses(): Promise<Map<string, Date>> {
    const today = new Date(Math.floor(Date.now() / dayMs) * dayMs);
    const rows = await this.select<LastUse & { day: number }>(sql.selectLastUses, [today]);
    const earlier = rows.filter(({ lastUsed }) => lastUsed === null);
    const days = [...new Set(earlier.map(({ day }) => day))].map((day) => new Date(day));
    const names = earlier.map(({ toolName }) => toolName);
    const older = names.length > 0 ? await this.select<LastUse>(sql.selectLastUsesOn, [days, names]) : [];
    const lastUses = new Map<string, Date>();
    for (const { toolName, lastUsed } of [...rows, ...older]) {
      if (lastUsed !== null) lastUses.set(toolName, new Date(lastUsed));
    }
    return lastUses;
  }

  /** Executions of at least the threshold, slowest first. */
  async getSlowExecutions(thresholdMs = 5_000, limit = 20, includeTests = true): Promise<ExecutionView[]> {
    return this.selectInProjects<ExecutionView>(sql.selectSlow, [thresholdMs, limit, includeTests]);
  }

  /** Executions that match the filter, from the newest on or after a position. */
  async getExecutions(
    query: sql.ExecutionFilter & { readonly limit: number; readonly after?: sql.PagePosition },
  ): Promise<ExecutionView[]> {
    const { limit, after, ...filter } = query;
    const inProjects = { ...filter, projects: this.projects };
    return this.run<ExecutionView>(sql.selectExecutions(inProjects, limit, after));
  }

  /** Repeated calls with the same input, by tool and investigation; most repetitions first. */
  async getDuplicates(query: sql.DuplicatesFilter): Promise<DuplicatesView[]> {
    return this.run<DuplicatesView>(sql.selectDuplicates({ ...query, projects: this.projects }));
  }

  async getExecution(id: string): Promise<ExecutionView | undefined> {
    if (!isUuid(id)) return undefined;
    const values = [id, ...recordedBetween(id)];
    const [execution] = await this.selectInProjects<ExecutionView>(sql.selectExecution, values);
    return execution;
  }

  /**
   * Marks a successful execution as semantically failed, or removes the mark.
   * @param reason short text, or null
   * @param by name of the caller
   * @returns the execution's project; undefined if there is no such execution
   */
  async markSemanticFailure(id: string, reason: string | null, by?: string): Promise<string | undefined> {
    if (!isUuid(id)) return undefined;
    const reasonText = reason === null ? null : sanitisedText(reason);
    const name = by === undefined ? null : sanitisedText(by);
    const values = [id, ...recordedBetween(id), reasonText, directSlot, name];
    const [marked] = await this.selectInProjects<MarkedExecution>(sql.markSemanticFailure, values);
    if (marked?.isNew) this.findings?.inc({ tool: marked.tool });
    return marked?.project;
  }

  /** Calls by caller, project, investigation or revision; most failures first. */
  async getCallers(filter: CallersFilter): Promise<CallersView[]> {
    return this.run<CallersView>(selectCallers({ ...filter, projects: this.projects }));
  }

  /** Deletes whole days (UTC) that ended `olderThanDays` ago. @returns the number of deleted executions */
  async cleanupOldMetrics(olderThanDays = 30): Promise<number> {
    return new MetricPartitions(this.db).dropBefore(new Date(Date.now() - olderThanDays * dayMs));
  }

  /** Executions that ended after `since` and count for circuits (no test, cancelled or interrupted calls), oldest first. */
  async getFaultSamples(since: Date): Promise<FaultSample[]> {
    return this.select<FaultSample>(sql.selectFaultSamples(), [since, maxExecutionTime]);
  }

  /** The newest executions of one tool that count for its circuit. */
  async getFaultSamplesOf(tool: string, since: Date, limit: number): Promise<FaultSample[]> {
    const newest = sql.selectFaultSamples('AND tool_name = $3 ORDER BY recorded_at DESC LIMIT $4');
    return this.select<FaultSample>(newest, [since, maxExecutionTime, sanitisedText(tool), limit]);
  }

  /** Calls and faults for circuits, of all replicas. Failed starts do not count: they may concern one replica only. */
  async getFaultCounts(tool: string, since: Date): Promise<{ calls: number; faults: number }> {
    // The end of this minute, so that cells are read instead of executions.
    const until = new Date((Math.floor(Date.now() / minuteMs) + 1) * minuteMs - 1);
    const rows = await this.counts(since, until, { latency: false, tools: [tool], ownOnly: true });
    const counts = { calls: 0, faults: 0 };
    for (const { errorType, calls, callerErrors } of rows) {
      if (inconclusiveErrors.has(errorType)) continue;
      const faults = errorType === '' ? 0 : calls - callerErrors;
      counts.calls += errorType === 'timeout' ? faults : calls;
      counts.faults += faults;
    }
    return counts;
  }

  /** Errors and timeouts, test calls excluded. */
  async countFailures(tool: string, since: Date): Promise<number> {
    const [row] = await this.select<{ failures: number }>(sql.countFailures, [sanitisedText(tool), since]);
    return row?.failures ?? 0;
  }

  /** All failed executions of a period in groups, the most frequent first; test calls excluded. */
  async getFailureGroups(tool: string, since: Date, until: Date): Promise<sql.FailureGroup[]> {
    const values = [sanitisedText(tool), since, until];
    return this.selectInProjects<sql.FailureGroup>(sql.selectFailureGroups, values);
  }

  /** The newest failure of each tool, by tool name; callers' errors and test calls excluded. */
  async getLastFailures(tools: readonly string[], since: Date): Promise<Map<string, sql.LastFailure>> {
    if (tools.length === 0) return new Map();
    const values = [tools.map(sanitisedText), since, maxCountedAround];
    return this.selectByTool<sql.LastFailure>(sql.selectLastFailures, values);
  }

  /** The first failure of each tool in the minute in which it began to fail, by tool name. */
  async getFirstFailures(minutes: ReadonlyMap<string, Date>): Promise<Map<string, sql.FirstFailure>> {
    if (minutes.size === 0) return new Map();
    const values = [[...minutes.keys()].map(sanitisedText), [...minutes.values()]];
    return this.selectByTool<sql.FirstFailure>(sql.selectFirstFailures, values);
  }

  /** The newest executions of all time, test calls excluded. */
  async getRecentOutcomes(tool: string, limit = 100): Promise<RecentOutcome[]> {
    return this.selectInProjects<RecentOutcome>(sql.selectRecentOutcomes, [sanitisedText(tool), limit]);
  }

  /** Executions of a period, counted by tool, status and error type. */
  private counts(since: Date, until: Date, wanted: CountsWanted): Promise<CountedRow[]> {
    const { projects } = this;
    assertCountable(this, since, until);
    const parts = periodParts(since, until, projects && []);
    return this.run<CountedRow>(selectCounts(parts, { ...wanted, projects }));
  }

  private run<Row>({ text, values }: Statement): Promise<Row[]> {
    return this.select<Row>(text, values);
  }

  /** @param statement whose last parameter is the projects */
  private selectInProjects<Row>(statement: string, parameters: unknown[]): Promise<Row[]> {
    return this.select<Row>(statement, [...parameters, this.projects]);
  }

  /** The rows of `selectInProjects` by their tool. */
  private async selectByTool<Row>(statement: string, parameters: unknown[]): Promise<Map<string, Row>> {
    const rows = await this.selectInProjects<Row & { tool: string }>(statement, parameters);
    return new Map(rows.map((row) => [row.tool, row]));
  }

  private select<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.db.query<Row[]>(statement, parameters);
  }
}

/** @throws Problem `invalid_request` for figures of some projects over more than a day */
export function assertCountable({ projects }: Reader, since: Date, until: Date): void {
  if (!projects || until.getTime() - since.getTime() <= dayMs) return;
  const limit = 'The figures of a project are counted from its executions, over 24 hours at most';
  throw new Problem('invalid_request', `${limit}: ask for a shorter period, or for all projects`);
}

/** Errors that say nothing about the tool, or concern one replica only. */
const inconclusiveErrors: ReadonlySet<string> = new Set(
  'interrupted cancelled internal_error upstream_unavailable spawn_failed capability_missing'.split(' '),
);

/** Our own ids contain the time, which selects the partition; foreign ids are searched in all partitions. */
function recordedBetween(id: string): [Date | string, Date | string] {
  const madeAt = timeOfId(id);
  if (madeAt === undefined) return ['-infinity', 'infinity'];
  return [new Date(madeAt - maxAdmissionMs), new Date(madeAt + maxAdmissionMs)];
}
