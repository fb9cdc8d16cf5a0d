import { Link, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { nearest } from '../lib/nearest.js';
import { screens } from '../lib/screens.js';
import { Page } from '../ui/layout.js';
import { Failed } from '../ui/states.js';

/** The places that somebody may have meant, by the beginnings of their addresses. */
const places = [...screens.map(({ to }) => to), '/settings/keys', '/settings/about', '/sign-in'] as const;

export function NotFoundPage(): ReactNode {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  return (
    <Page name="There is no such page">
      <p>
        Nothing stands at <code>{path}</code>. Did you mean{' '}
        {nearest(path, places).map((place, index) => (
          <span key={place}>
            {index > 0 && ' or '}
            <Link to={place}>{place}</Link>
          </span>
        ))}
        ?
      </p>
    </Page>
  );
}

/** The page without its frame: the server did not say who is looking. */
export function FatalPage({ error }: { readonly error: unknown }): ReactNode {
  return (
    <main>
      <title>Toolkeeper</title>
      <Failed error={error} retry={() => window.location.reload()} />
    </main>
  );
}
