import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock, hourMs, minuteMs } from '../../base/common/clock.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import { Problem } from '../../base/common/errors.js';
import type { Reader } from '../../web/contract/principal.js';
import { newToolMetric, type ToolMetric } from '../../records/executions/execution-record.js';
import { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';
import type { FleetFigures } from '../../records/executions/queries/tool-figures.js';
import type * as dto from './tool-health.dto.js';
import type { HealthStatus } from './tool-health.dto.js';
import {
  countByStatus,
  errorPatterns,
  type Grade,
  grade,
  type GradedStats,
  type GradedTool,
  infoOf,
  isClear,
  neverExecuted,
  overallStatus,
  reportOf,
  summaryOf,
  staysBad,
} from './grading.js';
import { RefusedCallers } from '../../records/executions/rollups/refused-callers.js';
import { CircuitsService } from '../../call/circuits/circuits.service.js';
import { KnownTools } from '../../call/circuits/known-tools.js';
import { RecentCalls } from './recent-calls.js';

/** A caller's report of an execution that ran elsewhere. */
type ExternalExecution = Pick<ToolMetric, 'toolName' | 'userId'> & Partial<ToolMetric>;

/** Which tools' latencies are read, because that is most of the work. */
type LatencyScope = 'all' | 'none' | 'needs attention';

/** All tools with their grades, and the totals. */
type GradedFleet = Omit<dto.SystemHealthView, 'toolReports' | 'circuits'> & {
  readonly now: number;
  readonly tools: readonly GradedTool[];
};

const dayHours = 24;
/** Default period of grades. Only changes of these grades are emitted and stored. */
const gradedHours = 1;
/** Min duration and max number of the slow executions in the dashboard. */
const [slowMs, maxSlowShown] = [5_000, 10];
/** Max executions whose outcomes are counted in a tool's info. */
const maxOutcomes = 100;
/** Points of a trend. It divides 60, so that each covers whole minutes for any number of hours. */
const trendPoints = 30;
/** Error types of failures that are not the tool's fault. */
const noFaults = new Set<unknown>('cancelled interrupted upstream_unavailable capability_missing'.split(' '));
const noCalls = { totalCalls: 0, successRate: 0, avgTimeMs: 0 };

type Period = Readonly<Record<'since' | 'until', Date>>;

const periodOf = (now: number, hours: number): Period => ({
  since: new Date(now - hours * hourMs),
  until: new Date(now),
});

/** The current grade of a tool. */
interface KnownGrade {
  readonly status: HealthStatus;
  /** Milliseconds since the epoch; null if it never had a grade other than unknown. */
  readonly since: number | null;
  /** A new grade, and when it was first seen. It is not emitted yet, because it may be chance. */
  readonly pending?: { readonly status: HealthStatus; readonly at: number };
}

/** Min duration of a new grade that is not clear, so that a tool near a threshold does not emit many changes. */
const settleMs = 2 * minuteMs;

/** A change of a tool's grade of the last hour, seen `at` (milliseconds since the epoch). */
export interface HealthChange {
  readonly tool: string;
  readonly from: HealthStatus;
  readonly to: HealthStatus;
  readonly at: number;
  /** The issues of the new grade, or a sentence that there are none. */
  readonly why: string;
}

/** Emits every change of a tool's grade synchronously. A listener that throws does not affect the others. */
@Injectable()
export class HealthEvents extends TypedEvents<HealthChange> {
  constructor() {
    const logger = new Logger(HealthEvents.name);
    super((error) => logger.error(error, 'a listener of health failed'));
  }
}

/** Derives grades, error patterns and summaries from the metrics. */
@Injectable()
export class ToolHealthService {
  /** Grades of the last hour, by tool; grade-history.ts restores them after a restart. */
  private readonly knownGrades = new Map<string, KnownGrade>();
  /** The service of all projects, if this one reads some only. */
  private readonly ofAllProjects?: ToolHealthService;

  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly knownTools: KnownTools,
    private readonly circuits: CircuitsService,
    private readonly refused: RefusedCallers,
    private readonly recent: RecentCalls,
    private readonly events: HealthEvents,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Reports with the figures of the caller's projects. The status stays that of all calls. */
  within(caller: Reader): ToolHealthService {
    if (!caller.projects) return this;
    const [metrics, recent] = [this.metrics.within(caller), this.recent.within(caller)];
    const refused = { since: (moment: Date) => this.refused.since(moment, caller.projects) };
    const limited = { metrics, recent, refused, ofAllProjects: this };
    return Object.assign(Object.create(this) as ToolHealthService, limited);
  }

  /** Records an execution that ran elsewhere. It counts for the grade, not for the circuit. */
  async recordExecution(execution: ExternalExecution): Promise<ToolMetric> {
    const { status = 'success', errorType } = execution;
    const toolFault = status !== 'success' && !noFaults.has(errorType);
    const recordedAt = new Date(this.clock.now());
    const metadata = { ...execution.metadata, external: true };
    return this.metrics.record(newToolMetric({ ...execution, status, toolFault, recordedAt, metadata }));
  }

  /** The grade of a period. Unknown tools and tools without calls are graded `unknown`. */
  async checkToolHealth(tool: string, periodHours = gradedHours): Promise<dto.ToolHealthView> {
    const now = this.clock.now();
    const { since: from, until } = periodOf(now, periodHours);
    await this.ofAllProjects?.updateGrades();
    const figures = (await this.metrics.getFigures(from, until, { latency: true, tools: [tool] })).get(tool);
    const graded = this.gradeOf(tool, figures);
    const since = this.recordGrade(tool, figures, graded, { hours: periodHours, now });
    return this.reportWithAvailability({ name: tool, figures, grade: graded, since }, now);
  }

  /** The grade of the period, and how the tool is doing now. */
  async reportTool(tool: string, periodHours = gradedHours): Promise<dto.ToolHealthNowView> {
    const [report, nowOf] = await Promise.all([
      this.checkToolHealth(tool, periodHours),
      this.recent.statesAt(this.clock.now(), [tool]),
    ]);
    return { ...report, now: nowOf(tool) };
  }

  /** Reports of all tools that are registered or were ever executed, by name. */
  async checkAllToolsHealth(periodHours = gradedHours): Promise<dto.SystemHealthView> {
    const bucketMs = (periodHours * hourMs) / trendPoints;
    const [{ now, tools, ...overall }, trends, nowOf, refused] = await Promise.all([
      this.gradeAll(periodHours, 'all'),
      this.metrics.getTrends(new Date(this.clock.now()), bucketMs, trendPoints),
      this.recent.statesAt(this.clock.now()),
      this.refused.since(new Date(this.clock.now() - hourMs)),
    ]);
    const toolReports = tools.map((tool) => {
      const { calls, failures } = trends.get(tool.name) ?? {};
      const limits = this.knownTools.thresholdsOf(tool.name);
      return {
        ...this.reportWithAvailability(tool, now),
        now: nowOf(tool.name),
        lastUsed: tool.lastUsed?.toISOString() ?? null,
        trend: calls && failures ? { bucketMs, calls, failures } : null,
        minSuccessRate: limits.successRateHealthy,
        maxAvgLatencyMs: limits.latencyHealthyMs,
        refusals: refused.get(tool.name) ?? [],
      };
    });
    return { ...overall, toolReports, circuits: this.circuits.notClosed().data };
  }

  /** Restores a grade from before the start of this server. @param since milliseconds since the epoch */
  remember(tool: string, status: HealthStatus, since: number): void {
    if (status !== 'unknown') this.knownGrades.set(tool, { status, since });
  }

  /** Grades all tools by the last hour and emits the changes. */
  async updateGrades(): Promise<void> {
    await this.gradeAll(gradedHours, 'none');
  }

  /** Advice only: the circuits decide. Default limits: the tool's own, else 5 errors in 5 minutes. */
  async shouldCircuitBreak(tool: string, errorThreshold?: number, windowMinutes?: number): Promise<boolean> {
    return (await this.circuits.advice(tool, { errorThreshold, windowMinutes })).shouldBreak;
  }

  /** Patterns of all failures of the period. @param limit max patterns by message */
  async getErrorPatterns(
    tool: string,
    limit = 20,
    periodHours = gradedHours,
    range: Partial<Period> = {},
  ): Promise<dto.ErrorPatternsView> {
    const until = range.until ?? new Date(this.clock.now());
    const { since = periodOf(until.getTime(), periodHours).since } = range;
    const [stats, groups] = await Promise.all([
      this.metrics.getToolStats(tool, { since, until }),
      this.metrics.getFailureGroups(tool, since, until),
    ]);
    return errorPatterns(stats, groups, limit);
  }

  /** The summary of the period; the slow executions are those of all time. */
  async getDashboardSummary(periodHours = gradedHours): Promise<dto.DashboardView> {
    const [{ now, tools, status, ...overall }, slow] = await Promise.all([
      this.gradeAll(periodHours, 'needs attention'),
      this.metrics.getSlowExecutions(slowMs, maxSlowShown, false),
    ]);
    return {
      overallStatus: status,
      ...overall,
      toolsNeedingAttention: tools
        .filter(({ grade }) => needsAttention(grade))
        .map((tool) => this.reportWithAvailability(tool, now)),
      slowExecutions: slow.map(({ toolName, executionTimeMs, recordedAt }) => ({
        toolName,
        executionTimeMs,
        recordedAt: recordedAt.toISOString(),
      })),
    };
  }

  /** The summary of the period; `lastUsed` is of all time. */
  async getHealthSummary(periodHours = gradedHours): Promise<dto.HealthSummaryView> {
    const { tools, status, checkedAt } = await this.gradeAll(periodHours, 'none');
    const byTool = Object.fromEntries(
      tools.map((tool) => [tool.name, { ...summaryOf(tool), ...this.availabilityOf(tool.name) }]),
    );
    return { overallStatus: status, tools: byTool, checkedAt };
  }

  /**
   * The grade of the last hour, totals and rates of the last 24 hours, and results of the last 100 executions of all time.
   * @returns null for a tool without calls in the last 24 hours
   */
  async getToolHealth(tool: string): Promise<dto.ToolHealthInfoView | null> {
    const report = await this.checkToolHealth(tool, dayHours);
    if (report.totalCalls === 0) return null;
    const { status } = await this.checkToolHealth(tool);
    return infoOf(report, status, await this.metrics.getRecentOutcomes(tool, maxOutcomes));
  }

  /** @throws Problem `not_found` for a tool without calls in the last 24 hours */
  async requireToolHealth(tool: string): Promise<dto.ToolHealthInfoView> {
    const info = await this.getToolHealth(tool);
    if (info) return info;
    throw new Problem('not_found', `No calls of a tool named ${JSON.stringify(tool)} in the last 24 hours`);
  }

  /** Sets the known tools, for programs without a registry. The registry does this after each change. */
  setRegisteredTools(names: readonly string[]): void {
    this.knownTools.set(names.map((name) => ({ name })));
  }

  /** Grades of all tools that are registered or were ever executed, by name. */
  private async gradeAll(periodHours: number, latency: LatencyScope): Promise<GradedFleet> {
    const now = this.clock.now();
    await this.ofAllProjects?.updateGrades();
    const [lastUses, figuresByTool] = await Promise.all([
      this.metrics.getLastUses(),
      this.figures(periodOf(now, periodHours), latency),
    ]);
    const names = [...new Set([...this.knownTools.names(), ...lastUses.keys()])].sort();
    const tools = names.map((name) => {
      const figures = figuresByTool.get(name);
      const lastUsed = lastUses.get(name);
      const graded = lastUsed ? this.gradeOf(name, figures) : neverExecuted;
      const since = this.recordGrade(name, figures, graded, { hours: periodHours, now });
      return { name, figures, lastUsed: this.ofAllProjects ? undefined : lastUsed, grade: graded, since };
    });
    const statuses = tools.map((tool) => tool.grade.status);
    return {
      now,
      tools,
      status: overallStatus(statuses),
      summary: countByStatus(statuses),
      checkedAt: new Date(now).toISOString(),
    };
  }

  /** Figures by tool; those of one tool are from one snapshot. */
  private async figures({ since, until }: Period, latency: LatencyScope): Promise<Map<string, FleetFigures>> {
    const figures = await this.metrics.getFigures(since, until, { latency: latency === 'all' });
    if (latency !== 'needs attention') return figures;
    const tools = [...figures.keys()].filter((tool) => needsAttention(this.gradeOf(tool, figures.get(tool))));
    if (tools.length === 0) return figures;
    const withLatency = await this.metrics.getFigures(since, until, { latency: true, tools });
    return new Map([...figures, ...withLatency]);
  }

  /** The grade by figures. A service of some projects has the status of all calls instead. */
  private gradeOf(tool: string, figures: GradedStats = noCalls): Grade {
    const graded = grade(figures, this.knownTools.thresholdsOf(tool));
    const { status = 'unknown', pending } = this.knownGrades.get(tool) ?? {};
    return this.ofAllProjects ? { ...graded, status: pending?.status ?? status } : graded;
  }

  private reportWithAvailability(tool: Omit<GradedTool, 'lastUsed'>, now: number): dto.ToolHealthView {
    const report = reportOf(tool, this.knownTools.thresholdsOf(tool.name), now);
    return { ...report, ...this.availabilityOf(tool.name) };
  }

  private availabilityOf(tool: string): Pick<dto.ToolHealthView, 'unavailable'> {
    const unavailable = this.knownTools.unavailable(tool);
    return unavailable ? { unavailable } : {};
  }

  /** Records the grade of the last hour and emits a change. @returns its start, milliseconds since the epoch */
  private recordGrade(
    tool: string,
    figures: FleetFigures | undefined,
    grade: Grade,
    { hours, now }: { readonly hours: number; readonly now: number },
  ): number | null {
    if (hours !== gradedHours) return null;
    const known: KnownGrade = this.knownGrades.get(tool) ?? { status: 'unknown', since: null };
    if (this.ofAllProjects) return known.since;
    const { status, issues, why: reasons } = grade;
    const { pending, ...before } = known;
    if (before.status === status) {
      if (pending) this.knownGrades.set(tool, before);
      return before.since;
    }
    const firstSeen = pending?.status === status ? pending.at : now;
    const isSamePeriod = staysBad(status, before.status);
    // A change that may be chance is emitted only if it lasts.
    if (before.since !== null && !isClear(grade) && now - firstSeen < settleMs) {
      this.knownGrades.set(tool, { ...before, pending: { status, at: firstSeen } });
      return isSamePeriod ? before.since : null;
    }
    const isFailing = status !== 'healthy' && reasons.some(({ rule }) => rule === 'success_rate');
    const causeMs = (isFailing ? figures?.firstFailureMs : figures?.firstMs) ?? now;
    // A first grade begins at the end of the minute of its cause: never before the cause.
    const at = before.since === null ? Math.min(now, causeMs + minuteMs) : firstSeen;
    const since = isSamePeriod ? (before.since ?? at) : at;
    this.knownGrades.set(tool, { status, since });
    const why = issues.join('; ') || 'Success rate and latency are within their targets';
    this.events.emit({ tool, from: before.status, to: status, at, why });
    return since;
  }
}

const needsAttention = ({ status }: Grade): boolean => status !== 'healthy';
