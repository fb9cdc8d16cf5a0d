import { queryOptions, useSuspenseQuery, type QueryClient } from '@tanstack/react-query';
import {
  ApiError,
  ask,
  beginSignIn,
  getSession,
  listProviders,
  type SessionView,
  type SignedOutView,
  signIn,
  signOut,
} from './api.js';
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

/** The OpenID providers at which people sign in. */
export const providersQuery = queryOptions({
  queryKey: ['session', 'providers'],
  queryFn: async ({ signal }) => (await ask(listProviders({ signal }))).providers,
  staleTime: Infinity,
});

/** The caller who looks at this page, and their scopes. */
export function useSession(): SessionView {
  return useSuspenseQuery(sessionQuery).data;
}

/** Whether the caller may act; `ask` if the caller must first enter a key, or enter it again in this tab. */
export function usePermission(scope: Scope): 'yes' | 'ask' | 'no' {
  const { scopes, anonymous } = useSession();
  if (anonymous) return scopes.includes(scope) ? 'yes' : 'ask';
  if (!scopes.includes(scope)) return 'no';
  return csrfToken.read() === null ? 'ask' : 'yes';
}

/**
 * @returns the path of the console that was requested before the sign-in at a provider
 * @throws ApiError `unauthorized` for an invalid key, a link that was used before, or a failed sign-in at a provider
 */
export async function openSession(
  client: QueryClient,
  credential: { key: string } | { once: string } | { answer: string },
): Promise<string | undefined> {
  const { csrfToken: token, to, ...session } = await ask(signIn({ body: credential }));
  csrfToken.keep(token);
  client.setQueryData(sessionQuery.queryKey, session);
  await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  return to;
}

/** Leaves for the provider, which sends the browser back to the sign-in page. */
export async function leaveForProvider(issuer: string, to: string): Promise<void> {
  const { url } = await ask(beginSignIn({ body: { issuer, to } }));
  window.location.assign(url);
}

/** Signs out in every tab of this browser, and at the provider at which the person signed in. */
export async function endSession(): Promise<void> {
  let url: string | undefined;
  try {
    url = ((await ask(signOut())) as SignedOutView | undefined)?.url;
  } catch (error) {
    // A session that has ended already needs no end.
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  // Other tabs are notified on leaving, because this tab would receive the message, too, and reload.
  window.addEventListener('pagehide', endInOtherTabs, { once: true });
  clearTab();
  window.location.assign(url ?? `${consolePath}/`);
}

/** Reloads this tab when another one signs out, so that none of the caller's data remains. */
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
