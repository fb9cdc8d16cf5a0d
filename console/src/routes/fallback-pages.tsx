import { useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiError } from '../lib/api.js';
import { screens } from '../lib/screens.js';
import { consolePath } from '../lib/server-url.js';
import { DidYouMean } from '../ui/did-you-mean.js';
import { Page } from '../ui/layout.js';
import { Failed } from '../ui/states.js';

/** Paths to suggest for an unknown address. */
const knownPaths = [
  ...Object.values(screens).map(({ to }) => to),
  ...['/settings/keys', '/settings/audit', '/settings/about', '/sign-in'],
];

export function NotFoundPage(): ReactNode {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  return (
    <Page name="Page not found">
      <p>
        No page has the address <code>{path}</code>. <DidYouMean name={path} known={knownPaths} />
      </p>
    </Page>
  );
}

/** Shown without the shell if the session cannot be loaded. */
export function FatalPage({ error }: { readonly error: unknown }): ReactNode {
  return (
    <main>
      <title>Toolkeeper</title>
      <Failed error={error} retry={() => window.location.reload()} />
      {error instanceof ApiError && error.code === 'forbidden' && (
        <a href={`${consolePath}/sign-in`}>Sign in as somebody else</a>
      )}
    </main>
  );
}
