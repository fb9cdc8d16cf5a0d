import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type ApiError, asApiError } from '../lib/api.js';
import { consolePath } from '../lib/server-url.js';
import { Button } from './controls.js';
import css from './layout.module.css';
import { Note } from './layout.js';

/** Placeholders of rows; with `figures`, also of the page's figures above them. */
export const Loading = ({ lines = 6, figures = 0 }: { lines?: number; figures?: number }): ReactNode => (
  <div className={css.skeleton} role="status" aria-label="Loading">
    {figures > 0 && (
      <div className={css.boxes}>
        {Array.from({ length: figures }, (_, index) => (
          <i key={index} />
        ))}
      </div>
    )}
    {Array.from({ length: lines }, (_, index) => (
      <span key={index} />
    ))}
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ReactNode }): ReactNode => (
  <div className={css.state}>
    <h2>{title}</h2>
    {children}
  </div>
);

const here = (): string => window.location.pathname + window.location.search;

interface FailedProps {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}

/** A failure with the server's message and what to do. */
export function Failed({ error, retry }: FailedProps): ReactNode {
  const { title, code, requestId, message } = asApiError(error);
  return (
    <div className={css.state} role="alert">
      <h2>{code === 'forbidden' ? 'Your key may not see this' : title}</h2>
      <p>{message}</p>
      {requestId !== undefined && (
        <p>
          <code>{code}</code> · request <code>{requestId}</code>
        </p>
      )}
      {code === 'unauthorized' && (
        <a href={`${consolePath}/sign-in?to=${encodeURIComponent(here())}`}>Sign in</a>
      )}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** The server's message about a refused action, beside its form. */
export const Problem = ({ problem }: { readonly problem: ApiError }): ReactNode => (
  <Note tone="bad" alert>
    {!/^\S+ line \d+: /.test(problem.message) && <strong>{problem.title}: </strong>}
    {problem.message}
  </Note>
);

interface LoadedProps<T> {
  readonly query: Pick<UseQueryResult<T>, 'data' | 'error'> & { readonly refetch: () => unknown };
  readonly lines?: number;
  /** Wraps what is shown instead of the data; absent: no wrapper. */
  readonly within?: (state: ReactNode) => ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** Renders a query: while it loads, when it failed, and its data. Old data stay during a refetch. */
export function Loaded<T>({ query, lines, within = (state) => state, children }: LoadedProps<T>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return within(<Failed error={query.error} retry={() => void query.refetch()} />);
  return within(<Loading {...(lines !== undefined && { lines })} />);
}

interface MoreProps {
  readonly list: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetching' | 'fetchNextPage'>;
  readonly name: string;
}

/** Footer of a list of which only the first pages are loaded. */
export const More = ({ list, name }: MoreProps): ReactNode =>
  list.hasNextPage && (
    <Button look="quiet" disabled={list.isFetching} onClick={() => void list.fetchNextPage()}>
      {name}
    </Button>
  );
