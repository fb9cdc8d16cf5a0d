import type { ReactNode } from 'react';
import type { ToolReportView } from '../lib/api.js';
import { counted, duration, number, percent } from '../lib/format.js';
import css from './grade-line.module.css';
import { Since } from './time.js';

/** "44 % failing (167 of 380)", and since when a tool has its grade: the same words on every screen. */
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

function figuresText({
  status,
  totalCalls,
  recentErrors,
  failureRate,
  avgLatencyMs,
  why,
}: ToolReportView): string {
  if (totalCalls === 0) return 'no calls in the last hour';
  const failing =
    recentErrors === 0
      ? counted(totalCalls, 'call')
      : `${percent(failureRate)} failing (${number(recentErrors)} of ${number(totalCalls)})`;
  const isSlow = status !== 'healthy' && why.some(({ rule }) => rule === 'avg_latency');
  return isSlow ? `${failing} · ${duration(avgLatencyMs)} on average` : failing;
}
