import type { ReactNode } from 'react';
import type { ToolReportView } from '../lib/api.js';
import { counted, duration, number, percent } from '../lib/format.js';
import css from './grade-line.module.css';
import { Since } from './time.js';

/** "44 % failing (167 of 380)", why that is no worse grade, and since when the tool has it: the same on every screen. */
export const GradeLine = ({ report }: { readonly report: ToolReportView }): ReactNode => {
  const since = sinceOf(report);
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

/** Since when a tool is degraded or unhealthy. */
export const sinceOf = ({ status, why }: ToolReportView): string | undefined =>
  status === 'healthy' ? undefined : (why.find(({ since }) => since !== null)?.since ?? undefined);

function figuresText({ status, totalCalls, recentErrors, failureRate, ...report }: ToolReportView): string {
  const { avgLatencyMs, why, refusals } = report;
  const callerErrors = why.find((reason) => reason.callerErrors)?.callerErrors ?? 0;
  const isSlow = status !== 'healthy' && why.some(({ rule }) => rule === 'avg_latency');
  const refused = refusals.reduce((sum, { count }) => sum + count, 0);
  return [
    totalCalls === 0
      ? 'no calls in the last hour'
      : recentErrors === 0
        ? counted(totalCalls, 'call')
        : `${percent(failureRate)} failing (${number(recentErrors)} of ${number(totalCalls)})`,
    callerErrors > 0 && `${number(callerErrors)} by callers' errors, not graded`,
    isSlow && `${duration(avgLatencyMs)} on average`,
    refused > 0 && `${number(refused)} refused`,
  ]
    .filter(Boolean)
    .join(' · ');
}
