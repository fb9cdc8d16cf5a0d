import type { ToolReportView } from './api.js';
import type { Unavailable } from './unavailable.js';

/** The state of a tool by which Overview and Tools order their rows. */
export interface Standing {
  readonly report?: ToolReportView | undefined;
  readonly unavailable?: Unavailable | undefined;
  /** Its circuit is not closed. */
  readonly isRefusing: boolean;
}

/** Whether the tool fails now, or recovers while its grade is still bad. */
export const courseOf = ({ now, status }: ToolReportView): 'failing' | 'recovering' | undefined => {
  if (now.failingSince !== null) return 'failing';
  return now.recoveringSince !== null && status !== 'healthy' ? 'recovering' : undefined;
};

/** Tests of a rank, worst first: tools that fail now come before those with a bad hour. */
const ranks: readonly ((standing: Standing) => boolean)[] = [
  ({ report }) => report !== undefined && courseOf(report) === 'failing',
  ({ unavailable }) => unavailable?.state === 'error',
  ({ unavailable }) => unavailable?.state === 'held',
  ({ isRefusing }) => isRefusing,
  ({ report }) => report?.status === 'unhealthy' && courseOf(report) === undefined,
  ({ report }) => report?.status === 'degraded' && courseOf(report) === undefined,
  ({ report }) => report !== undefined && report.findings > 0,
  ({ report }) => report !== undefined && courseOf(report) === 'recovering',
  () => true,
];
const rankOf = (standing: Standing): number => ranks.findIndex((isIt) => isIt(standing));

export const needsAttention = (standing: Standing): boolean => rankOf(standing) < ranks.length - 1;

/** Share of failures, 0 to 1, since it began to fail; otherwise of the last hour. */
export const failingShare = (report: ToolReportView): number => {
  const { callsSince, failuresSince } = report.now;
  if (courseOf(report) !== 'failing') return report.failureRate;
  return callsSince === 0 ? 0 : failuresSince / callsSince;
};

const shareOf = ({ report }: Standing): number => (report ? failingShare(report) : 0);

/** Compares two tools, the worse one first. */
export const byUrgency = (a: Standing, b: Standing): number =>
  rankOf(a) - rankOf(b) || shareOf(b) - shareOf(a);
