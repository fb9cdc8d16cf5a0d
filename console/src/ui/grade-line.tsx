import type { ReactNode } from 'react';
import type { ToolReportView } from '../lib/api.js';
import { clockTime, counted, duration, exactTime, number, percent } from '../lib/format.js';
import css from './grade-line.module.css';
import { Since } from './time.js';

/** How a tool is doing now if it fails or recovers, else the figures of its grade: the same on every screen. */
export const GradeLine = ({ report }: { readonly report: ToolReportView }): ReactNode => {
  const since = sinceOf(report);
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
          <Since at={since} /> ·{' '}
        </>
      )}
      {figuresText(report)}
    </span>
  );
};

/** Whether the tool fails now, or recovers while its grade is still bad. */
export const courseOf = ({ now, status }: ToolReportView): 'failing' | 'recovering' | undefined => {
  if (now.failingSince !== null) return 'failing';
  return now.recoveringSince !== null && status !== 'healthy' ? 'recovering' : undefined;
};

/** Failures among the calls since the tool began to fail, 0 to 1. */
export const failingShare = ({ now: { callsSince, failuresSince } }: ToolReportView): number =>
  callsSince === 0 ? 0 : failuresSince / callsSince;

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

/** Since when a tool is degraded or unhealthy. */
export const sinceOf = ({ status, why }: ToolReportView): string | undefined =>
  status === 'healthy' ? undefined : (why.find(({ since }) => since !== null)?.since ?? undefined);

/** Calls that were not run; empty without any. */
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
