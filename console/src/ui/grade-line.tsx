import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { LastErrorView, ToolReportView } from '../lib/api.js';
import { clockTime, counted, duration, exactTime, number, percent } from '../lib/format.js';
import { useIsPart } from '../lib/project.js';
import { courseOf, failingShare } from '../lib/urgency.js';
import css from './grade-line.module.css';
import { Since } from './time.js';

/** The present state of a tool that fails or recovers, otherwise the figures of its grade. */
export const GradeLine = ({ report }: { readonly report: ToolReportView }): ReactNode => {
  const since = sinceOf(report);
  const isPart = useIsPart();
  if (courseOf(report) !== undefined)
    return (
      <span className={css.line} data-state={courseOf(report)}>
        <NowLine report={report} />
      </span>
    );
  return (
    <span className={css.line}>
      {since && (
        <>
          not healthy <Since at={since} /> ·{' '}
        </>
      )}
      {isPart && report.totalCalls === 0 ? 'no calls of this project in the last hour' : figuresText(report)}
    </span>
  );
};

/** "100 % failing since 19:48 · 41 calls", "recovering: 0 of 210 failed since 19:52". */
function NowLine({ report }: { readonly report: ToolReportView }): ReactNode {
  const { failingSince, recoveringSince, callsSince, callersSince, failuresSince } = report.now;
  const refused = refusedText(report);
  const at = failingSince ?? recoveringSince ?? '';
  const start = (
    <time dateTime={at} title={exactTime(at)}>
      since {clockTime(at)}
    </time>
  );
  return failingSince !== null ? (
    <>
      {percent(failingShare(report))} failing {start} · {counted(callsSince, 'call')}
      {callersSince > 0 && `, ${counted(callersSince, 'caller')}`}
      {refused && ` · ${refused} in the last hour`}
    </>
  ) : (
    <>
      recovering: {number(failuresSince)} of {number(callsSince)} failed {start}
    </>
  );
}

/** The tool's own error, as a link to the execution. */
export const LastError = ({ of }: { readonly of: LastErrorView }): ReactNode => (
  <Link to="/executions/$id" params={{ id: of.executionId }}>
    {of.message ?? of.errorType}
  </Link>
);

/** Since when a tool is degraded or unhealthy. */
export const sinceOf = ({ status, why }: ToolReportView): string | undefined =>
  status === 'healthy' ? undefined : (why.find(({ since }) => since !== null)?.since ?? undefined);

/** Number of refused calls; empty if there are none. */
function refusedText({ refusals }: Pick<ToolReportView, 'refusals'>): string {
  const refused = refusals.reduce((sum, { count }) => sum + count, 0);
  return refused > 0 ? `${number(refused)} refused` : '';
}

function figuresText({ status, totalCalls, recentErrors, failureRate, ...report }: ToolReportView): string {
  const { avgLatencyMs, why } = report;
  const callerErrors = why.find((reason) => reason.callerErrors)?.callerErrors ?? 0;
  const isSlow = status !== 'healthy' && why.some(({ rule }) => rule === 'avg_latency');
  return [
    totalCalls === 0
      ? 'no calls in the last hour'
      : recentErrors === 0
        ? counted(totalCalls, 'call')
        : `${percent(failureRate)} failing (${number(recentErrors)} of ${number(totalCalls)})`,
    callerErrors > 0 && `${number(callerErrors)} by callers' errors, not graded`,
    isSlow && `${duration(avgLatencyMs)} on average`,
    refusedText(report),
  ]
    .filter(Boolean)
    .join(' · ');
}
