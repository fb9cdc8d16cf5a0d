import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { errorPatternsQuery } from '../../lib/queries.js';
import { buttonLook } from '../../ui/controls.js';
import css from './overview.module.css';

const shown = 3;

/** Failures of a tool, most frequent first: each leads to the newest execution that failed so. */
export function Failures({ tool }: { readonly tool: string }): ReactNode {
  const { data } = useQuery(errorPatternsQuery(tool));
  if (!data || data.messages.length === 0) return null;
  return (
    <ul className={css.failures}>
      {data.messages.slice(0, shown).map(({ errorType, message, count, example, executionId }) => (
        <li key={`${errorType} ${message}`} title={example}>
          <Link to="/executions/$id" params={{ id: executionId }}>
            {count} × {errorType}
          </Link>{' '}
          {example}
        </li>
      ))}
    </ul>
  );
}

/** Leads to the calls that failed as most of them did: the list knows errors and time-outs apart. */
export function FailedCalls({ tool }: { readonly tool: string }): ReactNode {
  const { data } = useQuery(errorPatternsQuery(tool));
  const [most] = data?.messages ?? [];
  if (!most) return null;
  const status = most.errorType === 'timeout' ? 'timeout' : 'error';
  return (
    <Link to="/executions" search={{ tool, status }} className={buttonLook(undefined, true)}>
      Failed calls
    </Link>
  );
}
