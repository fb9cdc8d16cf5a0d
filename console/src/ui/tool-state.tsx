import type { ReactNode } from 'react';
import type { CircuitView, ToolReportView } from '../lib/api.js';
import { type Unavailable, unavailableNames } from '../lib/unavailable.js';
import { useIsPart } from '../lib/project.js';
import { courseOf } from '../lib/urgency.js';
import { Badge } from './controls.js';
import { Muted } from './layout.js';

interface ToolStateProps {
  readonly unavailable?: Unavailable | undefined;
  readonly circuit?: CircuitView['state'] | undefined;
}

/** "failing now", "recovering" or the grade of the last hour; renders nothing for a tool that cannot be called. */
export function ReportState({ report }: { readonly report: ToolReportView }): ReactNode {
  if (report.unavailable) return null;
  const course = courseOf(report);
  if (course === 'failing') return <Badge state="failing now" tone="bad" />;
  return course ? <Badge state={course} tone="warn" /> : <Grade {...report} />;
}

/** The grade of the last hour. It is of all projects, and says so beside the figures of one. */
export function Grade({ status }: Pick<ToolReportView, 'status'>): ReactNode {
  const isPart = useIsPart();
  return (
    <>
      <Badge state={status} /> {isPart && status !== 'unknown' && <Muted>in all projects</Muted>}
    </>
  );
}

/** The reason why calls of a tool are refused: the tool or its circuit. Renders nothing if both allow calls. */
export const ToolState = ({ unavailable, circuit = 'closed' }: ToolStateProps): ReactNode => (
  <>
    {unavailable && (
      <span title={unavailable.why}>
        <Badge
          state={unavailableNames[unavailable.state]}
          tone={unavailable.state === 'disabled' ? 'none' : 'bad'}
        />
      </span>
    )}{' '}
    {circuit !== 'closed' && (
      <Badge state={`circuit ${circuit}`} tone={circuit === 'open' ? 'bad' : 'warn'} />
    )}
  </>
);
