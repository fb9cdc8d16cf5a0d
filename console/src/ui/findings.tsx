import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView } from '../lib/api.js';
import { counted, exactTime } from '../lib/format.js';
import { figuresRange, type TimeRange } from '../lib/time-range.js';
import { Badge } from './controls.js';
import { Note } from './layout.js';

interface FindingsLinkProps {
  readonly tool: string;
  readonly findings?: number | undefined;
  /** Absent: the hour of the report. */
  readonly range?: TimeRange;
}

/** Link to the results of a tool that report an error or were marked as wrong, with their number. */
export const FindingsLink = ({
  tool,
  findings = 0,
  range = figuresRange({}),
}: FindingsLinkProps): ReactNode =>
  findings > 0 && (
    <Link to="/executions" search={{ tool, finding: true, ...range }}>
      <Badge tone="warn" state={counted(findings, 'finding')} />
    </Link>
  );

/** The error in the result of an execution, as one line; undefined without any. */
export const findingText = ({ metadata }: ExecutionView): string | undefined =>
  (metadata as Found).semanticError?.snippet;

interface Found {
  readonly semanticError?: { readonly pattern: string; readonly snippet: string };
  readonly marked?: { readonly by: string | null; readonly at: string };
}

/** The error that the result of an execution reports, and its mark. */
export function Findings({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const { semanticFailure: reason } = execution;
  const { semanticError, marked } = execution.metadata as Found;
  const who = marked?.by ? ` by ${marked.by}, ${exactTime(marked.at)}` : '';
  return (
    <>
      {semanticError && (
        <Note tone="warn">
          Finding in the result: <strong>{semanticError.pattern}</strong> in “{semanticError.snippet}”
        </Note>
      )}
      {reason !== null && (
        <Note tone="warn">
          Marked as wrong{who}: {reason}
        </Note>
      )}
    </>
  );
}
