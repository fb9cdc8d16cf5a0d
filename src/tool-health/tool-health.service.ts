import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.js';
import { Problem } from '../common/errors.js';
import { newToolMetric, type ToolMetric } from '../tool-metrics/tool-metric.entity.js';
import { ToolMetricsRepository } from '../tool-metrics/tool-metrics.repository.js';
import type { ToolStats } from '../tool-metrics/tool-stats.js';
import type { CircuitAdvice, CircuitAdviceQuery } from './circuit.dto.js';
import { type ErrorPatterns, errorPatterns } from './error-patterns.js';
import { countByStatus, type Grade, grade, neverExecuted, overallStatus } from './grading.js';
import { HealthEvents } from './health-events.js';
import { reportOf } from './health-report.js';
import { KnownTools } from './known-tools.js';
import { StatusLog } from './status-log.js';
import type {
  DashboardSummary,
  HealthSummary,
  SystemHealthReport,
  ToolHealthInfo,
  ToolHealthReport,
} from './tool-health.dto.js';

/** What a caller tells of an execution that did not come through the door. */
export type ExternalExecution = Pick<ToolMetric, 'toolName' | 'userId'> &
  Partial<
    Pick<
      ToolMetric,
      'status' | 'executionTimeMs' | 'sessionId' | 'requestId' | 'errorType' | 'errorMessage' | 'metadata'
    >
  >;

const hourMs = 3_600_000;
const minuteMs = 60_000;
const dayHours = 24;
const slowMs = 5_000;
const slowShown = 10;
const outcomesRead = 100;
const nobodysFault: readonly (string | null | undefined)[] = [
  'cancelled',
  'interrupted',
  'upstream_unavailable',
];
const noCalls = { totalCalls: 0, successRate: 0, avgTimeMs: 0 };
/** Grades of these periods are followed: the default one and the dashboard's. */
const followedHours = [1, dayHours];

/** Says what the metrics mean: grades, error patterns, summaries (seed 000's ToolHealthService). */
@Injectable()
export class ToolHealthService {
  private readonly logger = new Logger(ToolHealthService.name);
  private readonly statuses = new StatusLog();

  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly knownTools: KnownTools,
    private readonly events: HealthEvents,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Rejects when the table cannot be read; the migrations have made it. */
  async ensureInitialized(): Promise<void> {
    await this.metrics.getRecentErrors(undefined, 1);
  }

  /** Writes the metric of an execution that ran elsewhere; the door records its own. It moves no live circuit. */
  async recordExecution(execution: ExternalExecution): Promise<ToolMetric> {
    const { status = 'success', errorType } = execution;
    const toolFault = status !== 'success' && !nobodysFault.includes(errorType);
    const recordedAt = new Date(this.clock.now());
    return this.metrics.record(newToolMetric({ ...execution, status, toolFault, recordedAt }));
  }

  /** A tool that nobody knows is `unknown`, like one without calls. */
  async checkToolHealth(tool: string, periodHours = 1): Promise<ToolHealthReport> {
    const now = this.clock.now();
    const stats = await this.metrics.getToolStats(tool, this.period(now, periodHours));
    return this.report(tool, stats, { hours: periodHours, now });
  }

  /** Every tool that is registered or was ever executed, by name. */
  async checkAllToolsHealth(periodHours = 1): Promise<SystemHealthReport> {
    const { report } = await this.checkAll(periodHours);
    return report;
  }

  /**
   * Advice only: counts errors and timeouts of the window, whatever the number of calls. The circuits decide. Defaults
   * are the tool's own, else 5 errors in 5 minutes.
   */
  async shouldCircuitBreak(tool: string, errorThreshold?: number, windowMinutes?: number): Promise<boolean> {
    const { shouldBreak } = await this.circuitAdvice(tool, { errorThreshold, windowMinutes });
    return shouldBreak;
  }

  /** `shouldCircuitBreak` with the figures that it is made of. */
  async circuitAdvice(tool: string, query: CircuitAdviceQuery = {}): Promise<CircuitAdvice> {
    const own = this.knownTools.thresholdsOf(tool);
    const { errorThreshold = own.errorThreshold, windowMinutes = own.windowMinutes } = query;
    const since = new Date(this.clock.now() - windowMinutes * minuteMs);
    const errors = await this.metrics.countFailures(tool, since);
    const shouldBreak = errors >= errorThreshold;
    const advice = { tool, shouldBreak, errors, errorThreshold, windowMinutes };
    if (shouldBreak) this.logger.warn({ event: 'circuit_breaker_triggered', ...advice });
    return advice;
  }

  /** Of the newest failures of all time. */
  async getErrorPatterns(tool: string, limit = 20): Promise<ErrorPatterns> {
    return errorPatterns(tool, await this.metrics.getErrorRows(tool, limit));
  }

  /** Of the last 24 hours; the slow executions are those of all time. */
  async getDashboardSummary(): Promise<DashboardSummary> {
    const [{ report }, slow] = await Promise.all([
      this.checkAll(dayHours),
      this.metrics.getSlowExecutions(slowMs, slowShown),
    ]);
    return {
      overallStatus: report.status,
      summary: report.summary,
      toolsNeedingAttention: report.toolReports.filter(({ status }) => status !== 'healthy'),
      slowExecutions: slow.map(({ toolName, executionTimeMs, recordedAt }) => ({
        toolName,
        executionTimeMs,
        recordedAt: recordedAt.toISOString(),
      })),
      checkedAt: report.checkedAt,
    };
  }

  /** Of the last hour; `lastUsed` is of all time. */
  async getHealthSummary(): Promise<HealthSummary> {
    const { report, lastUses } = await this.checkAll(1);
    const tools = report.toolReports.map(
      ({ toolName, status, successRate, avgLatencyMs, totalCalls, recentErrors }) => {
        const lastUsed = lastUses.get(toolName)?.toISOString() ?? null;
        return [toolName, { status, successRate, lastUsed, avgLatencyMs, totalCalls, recentErrors }] as const;
      },
    );
    return { overallStatus: report.status, tools: Object.fromEntries(tools), checkedAt: report.checkedAt };
  }

  /**
   * Totals and rates of the last 24 hours; successes, failures and last times of the last 100 executions of all time,
   * so that the two may differ (seed 000).
   * @returns null for a tool without calls in the last 24 hours
   */
  async getToolHealth(tool: string): Promise<ToolHealthInfo | null> {
    const report = await this.checkToolHealth(tool, dayHours);
    if (report.totalCalls === 0) return null;
    const outcomes = await this.metrics.getRecentOutcomes(tool, outcomesRead);
    const successes = outcomes.filter(({ status }) => status === 'success');
    const failures = outcomes.filter(({ status }) => status !== 'success');
    return {
      status: report.status,
      totalCalls: report.totalCalls,
      successfulCalls: successes.length,
      failedCalls: failures.length,
      successRate: report.successRate,
      avgLatencyMs: report.avgLatencyMs,
      lastSuccess: successes[0]?.recordedAt.toISOString() ?? null,
      lastFailure: failures[0]?.recordedAt.toISOString() ?? null,
      lastError: failures[0]?.errorMessage ?? null,
    };
  }

  /** @throws Problem `not_found` for a tool without calls in the last 24 hours */
  async requireToolHealth(tool: string): Promise<ToolHealthInfo> {
    const info = await this.getToolHealth(tool);
    if (info) return info;
    throw new Problem('not_found', `No calls of a tool named ${JSON.stringify(tool)} in the last 24 hours`);
  }

  /** The registry does this after each change; here because seed 000 has it. */
  setRegisteredTools(names: readonly string[]): void {
    this.knownTools.set(names.map((name) => ({ name })));
  }

  private async checkAll(
    periodHours: number,
  ): Promise<{ report: SystemHealthReport; lastUses: ReadonlyMap<string, Date> }> {
    const now = this.clock.now();
    const { since, until } = this.period(now, periodHours);
    const [lastUses, statsByTool] = await Promise.all([
      this.metrics.getLastUses(),
      this.metrics.getStatsOfAllTools(since, until),
    ]);
    const names = [...new Set([...this.knownTools.names(), ...lastUses.keys()])].sort();
    const period = { hours: periodHours, now };
    const toolReports = names.map((name) =>
      this.report(name, statsByTool.get(name), period, lastUses.has(name) ? undefined : neverExecuted),
    );
    const statuses = toolReports.map(({ status }) => status);
    const report = {
      status: overallStatus(statuses),
      toolReports,
      summary: countByStatus(statuses),
      checkedAt: new Date(now).toISOString(),
    };
    return { report, lastUses };
  }

  private report(
    toolName: string,
    stats: ToolStats | undefined,
    { hours, now }: { readonly hours: number; readonly now: number },
    fixedGrade?: Grade,
  ): ToolHealthReport {
    const thresholds = this.knownTools.thresholdsOf(toolName);
    const graded = fixedGrade ?? grade(stats ?? noCalls, thresholds);
    const isKnown = this.knownTools.has(toolName) || (stats?.totalCalls ?? 0) > 0;
    const since = isKnown ? this.follow(toolName, graded, hours, now) : null;
    return reportOf(toolName, stats, thresholds, graded, { now, since });
  }

  /** @returns since when the tool was seen to be so; null for grades of other periods than those that are followed */
  private follow(tool: string, { status, issues }: Grade, hours: number, now: number): number | null {
    if (!followedHours.includes(hours)) return null;
    const { since, changedFrom } = this.statuses.note(String(hours), tool, status, now);
    if (changedFrom !== undefined && hours === 1) {
      const why = issues.join('; ') || 'Success rate and latency are within their targets';
      this.events.emit({ tool, from: changedFrom, to: status, at: now, why });
    }
    return since;
  }

  private period(now: number, hours: number): { since: Date; until: Date } {
    return { since: new Date(now - hours * hourMs), until: new Date(now) };
  }
}
