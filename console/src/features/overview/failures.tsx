import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { errorPatternsQuery } from '../../lib/queries.js';
import css from './overview.module.css';

const most = 3;

/** Failures of a tool, most frequent first: each leads to the newest execution that failed so. */
export function Failures({ tool }: { readonly tool: string }): ReactNode {
  const { data } = useQuery(errorPatternsQuery(tool));
  if (!data || data.messages.length === 0) return null;
  return (
    <ul className={css.failures}>
      {data.messages.slice(0, most).map(({ errorType, message, count, example, executionId }) => (
        <li key={`${errorType} ${message}`} title={example}>
          <Link to="/executions/$id" params={{ id: executionId }}>
            {count} × {errorType}
          </Link>{' '}
          {message}
        </li>
      ))}
    </ul>
  );
}
