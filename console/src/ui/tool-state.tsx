import type { ReactNode } from 'react';
import type { CircuitView, CustomToolView, ToolReportView } from '../lib/api.js';
import { Badge } from './controls.js';
import { courseOf } from './grade-line.js';

export const statusNames = {
  active: 'active',
  inactive: 'disabled',
  error: 'cannot start',
} as const satisfies Readonly<Record<CustomToolView['status'], string>>;

interface ToolStateProps {
  readonly status?: CustomToolView['status'] | undefined;
  readonly circuit?: CircuitView['state'] | undefined;
}

/** "failing now" or "recovering", else the grade of the last hour. */
export function ReportState({ report }: { readonly report: ToolReportView }): ReactNode {
  const course = courseOf(report);
  if (course === 'failing') return <Badge state="failing now" tone="bad" />;
  return <Badge state={course ?? report.status} {...(course && { tone: 'warn' })} />;
}

/** Why calls of a tool are refused: its status, and its circuit. That both let calls pass goes without saying. */
export const ToolState = ({ status = 'active', circuit = 'closed' }: ToolStateProps): ReactNode => (
  <>
    {status !== 'active' && <Badge state={statusNames[status]} tone={status === 'error' ? 'bad' : 'none'} />}{' '}
    {circuit !== 'closed' && (
      <Badge state={`circuit ${circuit}`} tone={circuit === 'open' ? 'bad' : 'warn'} />
    )}
  </>
);
