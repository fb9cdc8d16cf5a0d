import { queryOptions, useSuspenseQuery, type QueryClient } from '@tanstack/react-query';
import { ask, getSession, type SessionView, signIn, signOut } from './api.js';
import { forgetDrafts } from './drafts.js';
import { askOtherTabs, csrfToken } from './csrf-token.js';

export type Scope = SessionView['scopes'][number];

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    const session = await ask(getSession({ signal }));
    if (!session.anonymous && csrfToken.read() === null) await askOtherTabs();
    return session;
  },
  staleTime: Infinity,
});

/** The caller who looks at this page, and their scopes. */
export function useSession(): SessionView {
  return useSuspenseQuery(sessionQuery).data;
}

/** A caller's leave to act by its key; `ask` for a caller who has shown none, or none in this tab. */
export function usePermission(scope: Scope): 'yes' | 'ask' | 'no' {
  const { scopes, anonymous } = useSession();
  if (anonymous) return scopes.includes(scope) ? 'yes' : 'ask';
  if (!scopes.includes(scope)) return 'no';
  return csrfToken.read() === null ? 'ask' : 'yes';
}

/** @throws ApiError `unauthorized` for a key that opens nothing, or a link that was used */
export async function openSession(
  client: QueryClient,
  shown: { key: string } | { once: string },
): Promise<void> {
  const { csrfToken: half, ...session } = await ask(signIn({ body: shown }));
  csrfToken.keep(half);
  client.setQueryData(sessionQuery.queryKey, session);
  await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
}

/** Clears all data of the caller from this tab by reloading the page. */
export async function endSession(): Promise<void> {
  await ask(signOut());
  csrfToken.forget();
  forgetDrafts();
  window.location.assign('/console/');
}

/** A one-time sign-in link, removed from the address at once so that neither history nor a screenshot contains it. */
export async function redeemLink(client: QueryClient): Promise<void> {
  const once = /^#once=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (once === undefined) return;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  await openSession(client, { once });
}
