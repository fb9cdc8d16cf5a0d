import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { timeOfId } from '../common/ids.js';
import { directSlot, insertBatch } from './batch-insert.js';
import { storableText } from '../common/pg-text.js';
import type { ToolMetric } from './tool-metric.entity.js';
import * as sql from './tool-metrics.sql.js';
import {
  type CountedRow,
  emptyStats,
  type FilledToolStats,
  statsByTool,
  type ToolStats,
} from './tool-stats.js';

/** An execution as a circuit counts it; `at` is its end. */
export interface FaultSample {
  readonly tool: string;
  readonly at: Date;
  readonly fault: boolean;
}

export type ErrorRow = Pick<ToolMetric, 'errorType' | 'errorMessage' | 'recordedAt'>;
export type RecentOutcome = Pick<ToolMetric, 'status' | 'errorMessage' | 'recordedAt'>;

/** Where a page of executions begins: after this one, towards older ones. */
export type PagePosition = Pick<ToolMetric, 'recordedAt' | 'metricId'>;

const dayMs = 86_400_000;
const deletedAtOnce = 10_000;
/** Executions longer than this may be missing from a window that they end in. */
const longestExecution = '10 minutes';
const newest = { before: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Between the making of an execution's id and its start; generous. */
const longestAdmissionMs = 60_000;

/** The durable records of executions (seed 000). Bounds in time are inclusive; lists begin with the newest. */
@Injectable()
export class ToolMetricsRepository {
  constructor(@InjectDataSource() private readonly db: DataSource) {}

  /** A metric whose id is there already changes nothing. */
  async record(metric: ToolMetric): Promise<ToolMetric> {
    await this.recordMany([metric]);
    return metric;
  }

  /** One statement for all of them; ids that are there already change nothing. */
  async recordMany(metrics: readonly ToolMetric[]): Promise<void> {
    await insertBatch(this.db, metrics, directSlot);
  }

  /** The last 24 hours unless told otherwise; a period without calls has the short form. */
  async getToolStats(tool: string, range: { since?: Date; until?: Date } = {}): Promise<ToolStats> {
    const until = range.until ?? new Date();
    const since = range.since ?? new Date(until.getTime() - dayMs);
    const period = { since: since.toISOString(), until: until.toISOString() };
    const rows = await this.select<CountedRow>(sql.selectStats, [since, until, storableText(tool)]);
    const stats = statsByTool(rows, period).get(storableText(tool));
    return stats ? { ...stats, toolName: tool } : emptyStats(tool, period);
  }

  /** By name, in one query; a tool without calls in the period is absent. */
  async getStatsOfAllTools(since: Date, until: Date): Promise<Map<string, FilledToolStats>> {
    const rows = await this.select<CountedRow>(sql.selectStatsOfAllTools, [since, until]);
    return statsByTool(rows, { since: since.toISOString(), until: until.toISOString() });
  }

  /** Errors and timeouts, of one tool or of all. */
  async getRecentErrors(tool?: string, limit = 10): Promise<ToolMetric[]> {
    if (tool === undefined) return this.select<ToolMetric>(sql.selectErrors, [limit]);
    return this.select<ToolMetric>(sql.selectErrorsOfTool, [limit, storableText(tool)]);
  }

  /** Every tool with a metric, trials included; sorted. */
  async getAllToolNames(): Promise<string[]> {
    const rows = await this.select<{ toolName: string }>(sql.selectToolNames);
    return rows.map((row) => row.toolName);
  }

  /** Start of each tool's newest execution that was no trial. */
  async getLastUses(): Promise<Map<string, Date>> {
    const rows = await this.select<{ toolName: string; lastUsed: Date }>(sql.selectLastUses);
    return new Map(rows.map((row) => [row.toolName, row.lastUsed]));
  }

  /** Executions of at least the threshold, slowest first. */
  async getSlowExecutions(thresholdMs = 5_000, limit = 20): Promise<ToolMetric[]> {
    return this.select<ToolMetric>(sql.selectSlow, [thresholdMs, limit]);
  }

  async getRecentExecutions(tool: string, limit = 100): Promise<ToolMetric[]> {
    return this.getExecutions({ tool, limit });
  }

  /** Of one tool or of all, from the newest or after a position. */
  async getExecutions(query: { tool?: string; limit: number; after?: PagePosition }): Promise<ToolMetric[]> {
    const { tool, limit, after } = query;
    const page = [limit, after?.recordedAt ?? newest.before, after?.metricId ?? newest.id];
    if (tool === undefined) return this.select<ToolMetric>(sql.selectExecutions, page);
    return this.select<ToolMetric>(sql.selectExecutionsOfTool, [...page, storableText(tool)]);
  }

  async getExecution(id: string): Promise<ToolMetric | undefined> {
    if (!uuid.test(id)) return undefined;
    const made = timeOfId(id);
    // Our own ids tell where to look; those of other makers are searched for everywhere.
    const range =
      made === undefined
        ? ['-infinity', 'infinity']
        : [new Date(made - longestAdmissionMs), new Date(made + longestAdmissionMs)];
    const [metric] = await this.select<ToolMetric>(sql.selectExecution, [id, ...range]);
    return metric;
  }

  /** @returns how many rows were deleted */
  async cleanupOldMetrics(olderThanDays = 30): Promise<number> {
    const before = new Date(Date.now() - olderThanDays * dayMs);
    let total = 0;
    for (;;) {
      const [row] = await this.select<{ deleted: number }>(sql.deleteOlder, [before, deletedAtOnce]);
      const deleted = row?.deleted ?? 0;
      total += deleted;
      if (deleted < deletedAtOnce) return total;
    }
  }

  /** What counts for circuits and ended after `since`, oldest first; no trials, nothing that was nobody's doing. */
  async getFaultSamples(since: Date): Promise<FaultSample[]> {
    return this.select<FaultSample>(sql.selectFaultSamples, [since, longestExecution]);
  }

  /** Errors and timeouts, trials excluded. */
  async countFailures(tool: string, since: Date): Promise<number> {
    const [row] = await this.select<{ failures: number }>(sql.countFailures, [storableText(tool), since]);
    return row?.failures ?? 0;
  }

  /** The newest executions of all time that were no success, trials excluded. */
  async getErrorRows(tool: string, limit: number): Promise<ErrorRow[]> {
    return this.select<ErrorRow>(sql.selectErrorRows, [storableText(tool), limit]);
  }

  /** The newest executions of all time, trials excluded. */
  async getRecentOutcomes(tool: string, limit = 100): Promise<RecentOutcome[]> {
    return this.select<RecentOutcome>(sql.selectRecentOutcomes, [storableText(tool), limit]);
  }

  private select<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.db.query<Row[]>(statement, parameters);
  }
}
