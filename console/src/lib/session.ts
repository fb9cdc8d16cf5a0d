import { queryOptions, useSuspenseQuery, type QueryClient } from '@tanstack/react-query';
import { ApiError, ask, getSession, type SessionView, signIn, signOut } from './api.js';
import { forgetDrafts } from './drafts.js';
import type { Scope } from './scopes.js';
import { askOtherTabs, csrfToken, endInOtherTabs, listenToOtherTabs } from './csrf-token.js';
import { consolePath } from './server-url.js';

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

/** Signs out in every tab of this browser. */
export async function endSession(): Promise<void> {
  try {
    await ask(signOut());
  } catch (error) {
    // A session that has ended already needs no end.
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  endInOtherTabs();
  clearTab();
  window.location.assign(`${consolePath}/`);
}

/** A tab stays where it is when another one signs out; it is reloaded, so that nothing of the caller remains. */
export const shareSession = (): void =>
  listenToOtherTabs(() => {
    clearTab();
    window.location.reload();
  });

function clearTab(): void {
  csrfToken.forget();
  forgetDrafts();
}

/** A one-time sign-in link, removed from the address at once so that neither history nor a screenshot contains it. */
export async function redeemLink(client: QueryClient): Promise<void> {
  const once = /^#once=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (once === undefined) return;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  await openSession(client, { once });
}
