import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { timeOfId } from '../common/ids.js';
import { directSlot, insertBatch } from './batch-insert.js';
import { storableText } from '../common/pg-text.js';
import type { Execution } from './execution.js';
import {
  type ExecutionFilter,
  type PagePosition,
  selectDuplicates,
  selectExecutions,
} from './executions.sql.js';
import { MetricPartitions } from './metric-partitions.js';
import { markSemanticFailure } from './semantic-failure.sql.js';
import { type PeriodParts, periodParts } from './period-parts.js';
import { selectFigures, selectLatencies, selectStats, type Statement } from './stats.sql.js';
import {
  type FiguresRow,
  type FleetFigures,
  figuresOfRow,
  type LatencyRow,
  type ToolFigures,
} from './tool-figures.js';
import type { ToolMetric } from './tool-metric.entity.js';
import * as sql from './tool-metrics.sql.js';
import { type CountedRow, emptyStats, filledStats, type ToolStats } from './tool-stats.js';

/** An execution as a circuit counts it; `at` is its end. */
export interface FaultSample {
  readonly tool: string;
  readonly at: Date;
  readonly fault: boolean;
}

/** Of one tool in one investigation, or outside of any (null). */
export interface Duplicates {
  readonly toolName: string;
  readonly investigationId: string | null;
  readonly calls: number;
  readonly distinctCalls: number;
  readonly duplicateCalls: number;
  /** 0 to 1. */
  readonly duplicateShare: number;
}

export type ErrorRow = Pick<ToolMetric, 'errorType' | 'errorMessage' | 'recordedAt'>;
export type RecentOutcome = Pick<ToolMetric, 'status' | 'errorMessage' | 'recordedAt'>;

const dayMs = 86_400_000;
/** Executions longer than this may be missing from a window that they end in. */
const longestExecution = '10 minutes';
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
    if (since > until) return emptyStats(tool, period);
    const { text, values } = selectStats(periodParts(since, until), storableText(tool));
    const rows = await this.select<CountedRow>(text, [...values]);
    return rows.length > 0 ? filledStats(tool, rows, period) : emptyStats(tool, period);
  }

  /**
   * By name, of one snapshot; a tool without calls in the period is absent.
   * @param latencyOf which tools' latency is asked for: reading it is most of the work
   */
  async getFiguresOfAllTools(
    since: Date,
    until: Date,
    latencyOf: 'all' | 'none' | ((tool: string, figures: ToolFigures) => boolean),
  ): Promise<Map<string, FleetFigures>> {
    if (since > until) return new Map();
    const parts = periodParts(since, until);
    if (typeof latencyOf === 'string') {
      const rows = await this.run<FiguresRow>(this.db, selectFigures(parts, latencyOf === 'all'));
      return new Map(rows.map((row) => [row.toolName, figuresOfRow(row)]));
    }
    return this.figuresWithLatencyOf(parts, latencyOf);
  }

  /** Errors and timeouts, of one tool or of all. */
  async getRecentErrors(tool?: string, limit = 10): Promise<Execution[]> {
    if (tool === undefined) return this.select<Execution>(sql.selectErrors, [limit]);
    return this.select<Execution>(sql.selectErrorsOfTool, [limit, storableText(tool)]);
  }

  /** Every tool with a metric, trials included; sorted. */
  async getAllToolNames(): Promise<string[]> {
    const rows = await this.select<{ toolName: string }>(sql.selectToolNames);
    return rows.map((row) => row.toolName);
  }

  /** Start of each tool's newest execution that was no trial. */
  async getLastUses(): Promise<Map<string, Date>> {
    const yesterday = new Date((Math.floor(Date.now() / dayMs) - 1) * dayMs);
    const rows = await this.select<{ toolName: string; day: Date; lastUsed: Date | null }>(
      sql.selectLastUses,
      [yesterday],
    );
    const lastUses = new Map<string, Date>();
    const dormant: typeof rows = [];
    for (const row of rows) {
      if (row.lastUsed) lastUses.set(row.toolName, row.lastUsed);
      else dormant.push(row);
    }
    if (dormant.length === 0) return lastUses;
    const days = [...new Set(dormant.map(({ day }) => day.getTime()))].map((day) => new Date(day));
    const older = await this.select<{ toolName: string; lastUsed: Date }>(sql.selectLastUsesOn, [
      days,
      dormant.map(({ toolName }) => toolName),
    ]);
    for (const { toolName, lastUsed } of older) lastUses.set(toolName, lastUsed);
    return lastUses;
  }

  /** Executions of at least the threshold, slowest first. */
  async getSlowExecutions(thresholdMs = 5_000, limit = 20): Promise<Execution[]> {
    return this.select<Execution>(sql.selectSlow, [thresholdMs, limit]);
  }

  async getRecentExecutions(tool: string, limit = 100): Promise<Execution[]> {
    return this.getExecutions({ tool, limit });
  }

  /** What the filter lets through, from the newest or after a position. */
  async getExecutions(
    query: ExecutionFilter & { readonly limit: number; readonly after?: PagePosition },
  ): Promise<Execution[]> {
    const { limit, after, ...filter } = query;
    const { text, values } = selectExecutions(filter, limit, after);
    return this.select<Execution>(text, [...values]);
  }

  /** How often tools were called again with the same input, by tool and investigation; most repetitions first. */
  async getDuplicates(query: {
    readonly since: Date;
    readonly until: Date;
    readonly limit: number;
    readonly tool?: string;
    readonly investigationId?: string;
  }): Promise<Duplicates[]> {
    const { text, values } = selectDuplicates(query, query.limit, query);
    return this.select<Duplicates>(text, [...values]);
  }

  async getExecution(id: string): Promise<Execution | undefined> {
    if (!uuid.test(id)) return undefined;
    const [metric] = await this.select<Execution>(sql.selectExecution, [id, ...recordedBetween(id)]);
    return metric;
  }

  /**
   * Says that an execution answered wrongly although it came to its end, or takes that back.
   * @param reason short; null: none
   * @returns false when there is no such execution
   */
  async markSemanticFailure(id: string, reason: string | null): Promise<boolean> {
    if (!uuid.test(id)) return false;
    const text = reason === null ? null : storableText(reason);
    const values = [id, ...recordedBetween(id), text, directSlot];
    const [row] = await this.select<{ found: number }>(markSemanticFailure, values);
    return (row?.found ?? 0) > 0;
  }

  /** Whole days go as they are, the rest by rows. @returns how many executions were deleted */
  async cleanupOldMetrics(olderThanDays = 30): Promise<number> {
    return new MetricPartitions(this.db).removeBefore(new Date(Date.now() - olderThanDays * dayMs));
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

  private figuresWithLatencyOf(
    parts: PeriodParts,
    isAsked: (tool: string, figures: ToolFigures) => boolean,
  ): Promise<Map<string, FleetFigures>> {
    return this.db.transaction('REPEATABLE READ', async (db) => {
      const rows = await this.run<FiguresRow>(db, selectFigures(parts, false));
      const byTool = new Map<string, FleetFigures>();
      const asked = new Map<string, FiguresRow>();
      for (const row of rows) {
        const figures = figuresOfRow(row);
        byTool.set(row.toolName, figures);
        if (isAsked(row.toolName, figures)) asked.set(row.toolName, row);
      }
      if (asked.size === 0) return byTool;
      for (const { toolName, latency } of await this.run<LatencyRow>(
        db,
        selectLatencies(parts, [...asked.keys()]),
      )) {
        const row = asked.get(toolName);
        if (row) byTool.set(toolName, figuresOfRow({ ...row, latency }));
      }
      return byTool;
    });
  }

  private run<Row>(db: Pick<DataSource, 'query'>, { text, values }: Statement): Promise<Row[]> {
    return db.query<Row[]>(text, [...values]);
  }

  private select<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.db.query<Row[]>(statement, parameters);
  }
}

/** Our own ids tell where to look; those of other makers are searched for everywhere. */
function recordedBetween(id: string): [Date | string, Date | string] {
  const made = timeOfId(id);
  if (made === undefined) return ['-infinity', 'infinity'];
  return [new Date(made - longestAdmissionMs), new Date(made + longestAdmissionMs)];
}
