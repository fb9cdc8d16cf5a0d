import { Injectable } from '@nestjs/common';
import { dayMs, hourMs, minuteMs } from '../../base/common/clock.js';
import { CircuitsService } from '../../call/circuits/circuits.service.js';
import { KnownTools } from '../../call/circuits/known-tools.js';
import type { Reader } from '../../web/contract/principal.js';
import { rounded } from '../../records/executions/queries/rounding.js';
import type { FleetFigures, Trend } from '../../records/executions/queries/tool-figures.js';
import {
  type FirstFailure,
  type LastFailure,
  ToolMetricsRepository,
} from '../../records/executions/tool-metrics.repository.js';
import type { LastErrorView, ToolNowView } from './tool-health.dto.js';

/** Calls of a minute or a longer period, without callers' errors. */
export interface CallsSince {
  /** Start of the period, milliseconds since the epoch. */
  readonly since: number;
  readonly calls: number;
  readonly failures: number;
}

/** A period in which a tool fails, and the working minutes after it. */
interface FailingStretch extends CallsSince {
  readonly working?: CallsSince;
}

/** Whether a tool fails or recovers, and its calls since then. */
export interface Course {
  readonly state: 'failing' | 'recovering';
  readonly of: CallsSince;
}

const nowMs = 5 * minuteMs;
/** Min failures of an outage. */
const minFailures = 3;
/** Max probability that an unchanged tool has so many successes in a row, for them to count as recovery. */
const maxChance = 0.05;

const plus = (before: CallsSince, { calls, failures }: Omit<CallsSince, 'since'>): CallsSince => ({
  since: before.since,
  calls: before.calls + calls,
  failures: before.failures + failures,
});

/** Whether successes in a row prove a recovery: one after a total outage, fourteen if one call of five failed. */
const showRecovery = ({ calls, failures }: CallsSince, successes: number): boolean =>
  (1 - failures / calls) ** successes <= maxChance;

const hasRecovered = ({ working, ...failing }: FailingStretch): boolean =>
  working !== undefined && showRecovery(failing, working.calls);

/**
 * Whether a tool fails or recovers, and since when. A minute counts as failing if less than `minRate` of its calls succeed.
 * A tool that fails again within five minutes of its recovery counts as failing all the time. A tool with an open circuit
 * fails, too, even if most calls in the minute of the opening succeeded.
 * @param minutes oldest first
 * @param openSince milliseconds since the epoch; undefined if the circuit is closed
 * @returns undefined for a tool with fewer than three failures in these minutes
 */
export function courseOf(
  minutes: readonly CallsSince[],
  minRate: number,
  openSince?: number,
): Course | undefined {
  const course = courseByMinutes(minutes, minRate);
  if (openSince === undefined || course?.state === 'failing') return course;
  // The call that opened the circuit may have begun in the minute before.
  const first = minutes.findIndex(({ since, failures }) => failures > 0 && since > openSince - 2 * minuteMs);
  const [from, ...later] = minutes.slice(first);
  return first === -1 || !from ? course : { state: 'failing', of: later.reduce(plus, from) };
}

function courseByMinutes(minutes: readonly CallsSince[], minRate: number): Course | undefined {
  let stretch: FailingStretch | undefined;
  for (const minute of minutes) {
    const { since, calls, failures } = minute;
    if (calls === 0) continue;
    if (1 - failures / calls >= minRate) {
      if (stretch)
        stretch = { ...stretch, working: plus(stretch.working ?? { since, calls: 0, failures: 0 }, minute) };
    } else if (!stretch || (hasRecovered(stretch) && since - (stretch.working?.since ?? since) >= nowMs)) {
      stretch = { since, calls, failures };
    } else {
      stretch = plus(plus(stretch, stretch.working ?? { calls: 0, failures: 0 }), minute);
    }
  }
  if (!stretch || stretch.failures < minFailures) return undefined;
  const { working, ...failing } = stretch;
  if (!working) return { state: 'failing', of: failing };
  return hasRecovered(stretch)
    ? { state: 'recovering', of: working }
    : { state: 'failing', of: plus(failing, working) };
}

const minutesOf = ({ calls, failures, callerErrors }: Trend, until: number): CallsSince[] => {
  const first = Math.floor(until / minuteMs) + 1 - calls.length;
  return calls.map((count, index) => ({
    since: (first + index) * minuteMs,
    calls: count - (callerErrors[index] ?? 0),
    failures: (failures[index] ?? 0) - (callerErrors[index] ?? 0),
  }));
};

/**
 * Moves the start of a failing period from its minute to the first failure, so that an outage is 100 % failing, and detects
 * a recovery after the last failure within the same minute.
 */
function exact(course?: Course, first?: FirstFailure, last?: LastFailure): Course | undefined {
  if (course?.state !== 'failing' || !first) return course;
  const of = { ...course.of, since: first.at.getTime(), calls: course.of.calls - first.successesBefore };
  if (!last || !showRecovery({ ...of, calls: of.calls - last.successesAfter }, last.successesAfter))
    return { state: 'failing', of };
  return {
    state: 'recovering',
    of: { since: last.at.getTime(), calls: last.successesAfter, failures: 0 },
  };
}

const isoOrNull = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();

const lastErrorOf = ({ at, executionId, errorType, message }: LastFailure): LastErrorView => ({
  ...{ at: at.toISOString(), executionId, errorType, message },
});

function viewOf(figures?: FleetFigures, course?: Course, last?: LastFailure, callers = 0): ToolNowView {
  const { totalCalls = 0, successCount = 0, callerErrors = 0, findingCount = 0, p95TimeMs } = figures ?? {};
  const calls = totalCalls - callerErrors;
  const failures = calls - successCount;
  const { state, of } = course ?? {};
  return {
    ...{ calls, failures, failureRate: rounded(failures / (calls || 1), 4), findings: findingCount },
    p95LatencyMs: p95TimeMs === undefined ? null : rounded(p95TimeMs, 2),
    failingSince: isoOrNull(state === 'failing' ? of?.since : undefined),
    recoveringSince: isoOrNull(state === 'recovering' ? of?.since : undefined),
    callsSince: of?.calls ?? 0,
    failuresSince: of?.failures ?? 0,
    callersSince: state === 'failing' ? callers : 0,
    lastError: last && course ? lastErrorOf(last) : null,
  };
}

/** State of tools in the last minutes, beside their grade of the last hour; read from the rollups by minute. */
@Injectable()
export class RecentCalls {
  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly knownTools: KnownTools,
    private readonly circuits: CircuitsService,
  ) {}

  within(caller: Reader): RecentCalls {
    return new RecentCalls(this.metrics.within(caller), this.knownTools, this.circuits);
  }

  /** State at a time. @param tools default: all @returns a view for any name; a tool without calls has zeros */
  async at(now: number, tools?: readonly string[]): Promise<(tool: string) => ToolNowView> {
    const [figures, courses] = await Promise.all([
      this.metrics.getFigures(new Date(now - nowMs), new Date(now), { latency: true, tools }),
      this.courses(now, tools),
    ]);
    const failing = [...courses].filter(([, { state }]) => state === 'failing');
    const [firsts, lasts] = await Promise.all([
      this.metrics.getFirstFailures(new Map(failing.map(([tool, { of }]) => [tool, new Date(of.since)]))),
      this.metrics.getLastFailures([...courses.keys()], new Date(now - dayMs)),
    ]);
    return (tool) => {
      const last = lasts.get(tool);
      const first = firsts.get(tool);
      return viewOf(figures.get(tool), exact(courses.get(tool), first, last), last, first?.callers);
    };
  }

  /** Courses of the last hour; of the last day for tools that failed during all of it. */
  private async courses(now: number, tools?: readonly string[]): Promise<Map<string, Course>> {
    const courses = await this.coursesOver(hourMs, now, tools);
    const long = [...courses].filter(([, { of }]) => of.since < now - hourMs + nowMs).map(([tool]) => tool);
    return long.length === 0 ? courses : new Map([...courses, ...(await this.coursesOver(dayMs, now, long))]);
  }

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
