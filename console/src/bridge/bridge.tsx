import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { csrfToken } from '../lib/csrf-token.js';
import { useTopic } from '../lib/live.js';
import { useSession } from '../lib/session.js';
import { pageOf, useNavigationTools } from './navigation.js';
import { PageLink } from './page-link.js';
import { LinkContext } from './use-page.js';

/** Lets agents see and operate this page. Their calls arrive by the tab's stream; the mounted views answer them. */
export function Bridge({ children }: { readonly children: ReactNode }): ReactNode {
  const router = useRouter();
  const [link] = useState(() => new PageLink(() => pageOf(router)));
  const { session } = useSyncExternalStore(link.subscribe, link.read);
  const { anonymous, keyId, scopes } = useSession();
  // A tab without the CSRF token is another caller when it reports than when it listens.
  const token = csrfToken.read();
  const isOne = scopes.includes('tools:call') && (anonymous || token !== null);
  useEffect(() => (isOne ? link.start(keyId ?? 'anonymous') : undefined), [link, isOne, keyId, token]);
  useEffect(() => router.subscribe('onResolved', () => link.changed()), [router, link]);
  useTopic(session && `ui:${session}`, (event) => link.hear(event));
  return (
    <LinkContext value={link}>
      <Everywhere link={link} />
      {children}
    </LinkContext>
  );
}

function Everywhere({ link }: { readonly link: PageLink }): ReactNode {
  useNavigationTools(link.tools);
  return null;
}
