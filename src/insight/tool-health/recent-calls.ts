import { Injectable } from '@nestjs/common';
import { dayMs, hourMs, minuteMs } from '../../base/common/clock.js';
import { CircuitsService } from '../../call/circuits/circuits.service.js';
import { KnownTools } from '../../call/circuits/known-tools.js';
import type { Reader } from '../../web/contract/principal.js';
import { rounded } from '../../records/executions/queries/rounding.js';
import type { FleetFigures, Trend } from '../../records/executions/queries/tool-figures.js';
import type { FirstFailure, LastFailure } from '../../records/executions/queries/tool-metrics.sql.js';
import { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';
import type { LastErrorView, ToolNowView } from './tool-health.dto.js';

/** Calls since a moment, without callers' errors. */
export interface CallsSince {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly calls: number;
  readonly failures: number;
}

/** An outage of a tool that continues, or the recovery from it; and the calls since its start. */
export interface Course {
  readonly state: 'failing' | 'recovering';
  readonly calls: CallsSince;
  /** Start of the first minute with calls after the outage; the outage may have ended in it. */
  readonly firstMinute?: number | undefined;
}

/** Length of the period whose figures are shown as those of now. */
const nowMs = 5 * minuteMs;
/** Min failures of an outage. */
const minFailures = 3;
/** Max probability that the failures of an outage are chance. */
const breakChance = 0.03;
/** Max probability that the successes of a recovery are chance. */
const recoveryChance = 0.01;
/** Max probability that failures in a row during a recovery are chance. It is lower, because any call may begin such a row. */
const relapseChance = 0.001;

/** The state of a tool after the minutes so far. */
interface Phase {
  readonly state: Course['state'] | 'fine';
  /** Calls in this state. */
  readonly calls: CallsSince;
  /** The newest calls, which do not belong to this state if it ends with them. */
  readonly pending?: CallsSince | undefined;
  /** Calls of the outage before a recovery. */
  readonly outage?: CallsSince;
  /** End of the last failing minute. */
  readonly failedUntil: number;
  readonly firstMinute?: number;
}

/** Adds calls to those since an earlier moment. */
const addCalls = (before: CallsSince, { calls, failures }: Omit<CallsSince, 'since'>): CallsSince => ({
  since: before.since,
  calls: before.calls + calls,
  failures: before.failures + failures,
});

const successRate = ({ calls, failures }: CallsSince): number => 1 - failures / calls;

/** The success rate of a failing tool: well below `minRate`, so that a tool near it does not change its state each minute. */
const failingRate = (minRate: number): number => minRate - Math.min(minRate, 1 - minRate) / 2;

/** Probability of at most `hits` among calls of which each is a hit with probability `chance`. */
function chanceOfAtMost(hits: number, calls: number, chance: number): number {
  let term = (1 - chance) ** calls;
  if (term === 0) return hits < calls * chance ? 0 : 1;
  let sum = term;
  for (let hit = 1; hit <= hits; hit++) {
    term *= ((calls - hit + 1) / hit) * (chance / (1 - chance));
    sum += term;
  }
  return sum;
}

/** Whether so few successes are unlikely for a tool that works. */
const hasBroken = ({ calls, failures }: CallsSince, minRate: number): boolean =>
  failures >= minFailures && chanceOfAtMost(calls - failures, calls, failingRate(minRate)) <= breakChance;

/** Whether so few failures are unlikely in the outage: one success if all calls failed, 21 in a row if one of five did. */
const hasRecovered = ({ calls, failures }: CallsSince, outage: CallsSince): boolean =>
  chanceOfAtMost(failures, calls, 1 - successRate(outage)) <= recoveryChance;

/**
 * Whether a tool fails or recovers, and since when. It fails if its success rate is clearly below `failingRate`, and
 * recovers if it is back at `minRate`. A tool that fails again within five minutes of its recovery counts
 * as failing all the time. A tool with an open circuit fails, too, even if most calls in the minute of the opening succeeded.
 * @param minutes oldest first
 * @param openSince milliseconds since the epoch; undefined if the circuit is closed
 * @returns undefined for a tool without an outage in these minutes
 */
export function courseOf(
  minutes: readonly CallsSince[],
  minRate: number,
  openSince?: number,
): Course | undefined {
  const course = courseByMinutes(minutes, minRate);
  if (openSince === undefined || course?.state === 'failing') return course;
  // The call that opened the circuit may have begun in the minute before.
  const index = minutes.findIndex(({ since, failures }) => failures > 0 && since > openSince - 2 * minuteMs);
  const [first, ...later] = index === -1 ? [] : minutes.slice(index);
  return first ? { state: 'failing', calls: later.reduce(addCalls, first) } : course;
}

/** The course by the calls of each minute alone. */
function courseByMinutes(minutes: readonly CallsSince[], minRate: number): Course | undefined {
  let phase: Phase = { state: 'fine', calls: { since: 0, calls: 0, failures: 0 }, failedUntil: 0 };
  for (const minute of minutes) if (minute.calls > 0) phase = phaseAfter(phase, minute, minRate);
  const { state, pending, firstMinute } = phase;
  const calls = pending ? addCalls(phase.calls, pending) : phase.calls;
  if (state === 'fine' || (state === 'recovering' && successRate(calls) < minRate)) return undefined;
  return { state, calls, firstMinute };
}

/** The state of a tool after one more minute with calls. */
function phaseAfter(phase: Phase, minute: CallsSince, minRate: number): Phase {
  const { state, calls, outage, failedUntil } = phase;
  const pending = phase.pending ? addCalls(phase.pending, minute) : minute;
  const end = minute.since + minuteMs;
  if (state === 'failing') {
    if (successRate(pending) < minRate) return { state, calls: addCalls(calls, pending), failedUntil: end };
    if (!hasRecovered(pending, calls)) return { ...phase, pending };
    const { since: firstMinute, failures } = pending;
    const recovery = { ...pending, since: failures > 0 ? firstMinute : failedUntil };
    return { state: 'recovering', calls: recovery, outage: calls, failedUntil, firstMinute };
  }
  if (successRate(pending) >= failingRate(minRate))
    return { ...phase, calls: addCalls(calls, pending), pending: undefined };
  if (!hasBroken(pending, minRate)) return { ...phase, pending };
  const isSameOutage = outage && pending.since - failedUntil < nowMs;
  const failing = isSameOutage ? addCalls(addCalls(outage, calls), pending) : pending;
  return { state: 'failing', calls: failing, failedUntil: end };
}

/** The calls of each minute of a trend. @param until milliseconds since the epoch, in its last minute */
const minutesOf = ({ calls, failures, callerErrors }: Trend, until: number): CallsSince[] => {
  const first = Math.floor(until / minuteMs) + 1 - calls.length;
  return calls.map((count, index) => ({
    since: (first + index) * minuteMs,
    calls: count - (callerErrors[index] ?? 0),
    failures: (failures[index] ?? 0) - (callerErrors[index] ?? 0),
  }));
};

/**
 * Moves the start of a failing period from its minute to the first failure, so that an outage is 100 % failing. Moves a
 * recovery to the last failure of the outage, and detects one within the minute of that failure.
 */
function withExactStart(
  course?: Course,
  firstFailure?: FirstFailure,
  lastFailure?: LastFailure,
): Course | undefined {
  if (!course || !lastFailure) return course;
  const { successesAfter } = lastFailure;
  const since = lastFailure.at.getTime();
  const { calls, failures } = course.calls;
  if (course.state === 'recovering') {
    // The first minute of a recovery may begin with the end of the outage. Later failures belong to the recovery.
    if (since >= (course.firstMinute ?? 0) + minuteMs) return course;
    return { ...course, calls: { since, calls: Math.max(calls - failures, successesAfter), failures: 0 } };
  }
  if (!firstFailure) return course;
  const { at, successesBefore } = firstFailure;
  const failing = { since: at.getTime(), calls: calls - successesBefore, failures };
  const recovery = { since, calls: successesAfter, failures: 0 };
  return hasRecovered(recovery, { ...failing, calls: Math.max(failures, failing.calls - successesAfter) })
    ? { state: 'recovering', calls: recovery }
    : { state: 'failing', calls: failing };
}

/** Ends a recovery in which all newest calls failed: minutes with many successes before would hide a second outage. */
function withRelapse(course: Course, lastFailure: LastFailure | undefined, minRate: number): Course {
  if (course.state === 'failing' || !lastFailure?.firstInARow) return course;
  const { inARow, firstInARow } = lastFailure;
  const failuresInARow = { since: firstInARow.getTime(), calls: inARow, failures: inARow };
  const { calls, failures } = course.calls;
  const failureRate = Math.max(0, failures - inARow) / Math.max(1, calls - inARow);
  const hasRelapsed = hasBroken(failuresInARow, minRate) && failureRate ** inARow <= relapseChance;
  return hasRelapsed ? { state: 'failing', calls: failuresInARow } : course;
}

const lastErrorOf = ({ at, executionId, errorType, message }: LastFailure): LastErrorView => ({
  at: at.toISOString(),
  executionId,
  errorType,
  message,
});

/** The view of a tool's state. @param callers number of callers since the start of an outage */
function viewOf(figures?: FleetFigures, course?: Course, last?: LastFailure, callers = 0): ToolNowView {
  const { totalCalls = 0, successCount = 0, callerErrors = 0, findingCount = 0, p95TimeMs } = figures ?? {};
  const calls = totalCalls - callerErrors;
  const failures = calls - successCount;
  const { state, calls: current } = course ?? {};
  const since = current ? new Date(current.since).toISOString() : null;
  return {
    calls,
    failures,
    failureRate: rounded(failures / (calls || 1), 4),
    findings: findingCount,
    p95LatencyMs: p95TimeMs === undefined ? null : rounded(p95TimeMs, 2),
    failingSince: state === 'failing' ? since : null,
    recoveringSince: state === 'recovering' ? since : null,
    callsSince: current?.calls ?? 0,
    failuresSince: current?.failures ?? 0,
    callersSince: state === 'failing' ? callers : 0,
    lastError: last && course ? lastErrorOf(last) : null,
  };
}

/** The state of tools now: of the last minutes, while grades are of the last hour. Read from the rollups by minute. */
@Injectable()
export class RecentCalls {
  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly knownTools: KnownTools,
    private readonly circuits: CircuitsService,
  ) {}

  /** State by the calls of the caller's projects. */
  within(caller: Reader): RecentCalls {
    return new RecentCalls(this.metrics.within(caller), this.knownTools, this.circuits);
  }

  /** States at a time. @param tools default: all @returns a function from a tool's name to its state */
  async statesAt(now: number, tools?: readonly string[]): Promise<(tool: string) => ToolNowView> {
    const [figures, byMinutes] = await Promise.all([
      this.metrics.getFigures(new Date(now - nowMs), new Date(now), { latency: true, tools }),
      this.courses(now, tools),
    ]);
    const lastFailures = await this.metrics.getLastFailures([...byMinutes.keys()], new Date(now - dayMs));
    const courses = new Map(
      [...byMinutes].map(([tool, course]) => {
        const { successRateDegraded } = this.knownTools.thresholdsOf(tool);
        return [tool, withRelapse(course, lastFailures.get(tool), successRateDegraded)];
      }),
    );
    const failing = [...courses].filter(([, { state }]) => state === 'failing');
    const starts = failing.map(([tool, { calls }]) => [tool, new Date(calls.since)] as const);
    const firstFailures = await this.metrics.getFirstFailures(new Map(starts));
    return (tool) => {
      const last = lastFailures.get(tool);
      const first = firstFailures.get(tool);
      return viewOf(figures.get(tool), withExactStart(courses.get(tool), first, last), last, first?.callers);
    };
  }

  /** Courses by the last hour; for tools that failed from its beginning, by the last day. */
  private async courses(now: number, tools?: readonly string[]): Promise<Map<string, Course>> {
    const courses = await this.coursesOver(hourMs, now, tools);
    // An outage that began in the first minutes of the hour may have begun before.
    const oldest = now - hourMs + nowMs;
    const failingLong = [...courses].filter(([, { calls }]) => calls.since < oldest).map(([tool]) => tool);
    if (failingLong.length === 0) return courses;
    return new Map([...courses, ...(await this.coursesOver(dayMs, now, failingLong))]);
  }

  /** Courses by the calls of a period. */
  private async coursesOver(
    periodMs: number,
    now: number,
    tools?: readonly string[],
  ): Promise<Map<string, Course>> {
    const trends = await this.metrics.getTrends(new Date(now), minuteMs, periodMs / minuteMs, tools);
    const opened = this.circuits.notClosed().data.filter(({ heldByHand }) => !heldByHand);
    const openSince = new Map(opened.map((circuit) => [circuit.tool, Date.parse(circuit.openSince ?? '')]));
    const courses = [...trends].map(([tool, trend]) => {
      const { successRateDegraded } = this.knownTools.thresholdsOf(tool);
      return [tool, courseOf(minutesOf(trend, now), successRateDegraded, openSince.get(tool))] as const;
    });
    return new Map(courses.flatMap(([tool, course]) => (course ? [[tool, course]] : [])));
  }
}
