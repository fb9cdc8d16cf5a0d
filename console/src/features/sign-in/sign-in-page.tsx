import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { SignInForm } from '../../app/sign-in-form.js';
import { asApiError } from '../../lib/api.js';
import { stringifySearch } from '../../lib/search-params.js';
import { consolePath } from '../../lib/server-url.js';
import { leaveForProvider, openSession, providersQuery } from '../../lib/session.js';
import { Button } from '../../ui/controls.js';
import { Note, Stack } from '../../ui/layout.js';
import css from './sign-in.module.css';

const route = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { to } = route.useSearch();
  const navigate = useNavigate();
  // Only paths of this console are allowed, to prevent open redirects.
  const target = to?.startsWith(`${consolePath}/`) === true ? to : `${consolePath}/`;
  const { data: providers = [] } = useQuery(providersQuery);
  const [failed, setFailed] = useState<string>();
  const wrong = (error: unknown): void => setFailed(asApiError(error).message);
  const isReturning = useAnswer(wrong);
  if (isReturning && failed === undefined) return <main className={css.page}>Signing in …</main>;
  return (
    <main className={css.page}>
      <title>Sign in · Toolkeeper</title>
      <h1>Sign in to Toolkeeper</h1>
      {failed !== undefined && (
        <Note tone="bad" alert>
          {failed}
        </Note>
      )}
      {providers.length > 0 && (
        <Stack>
          {providers.map(({ issuer, name }) => (
            <Button key={issuer} onClick={() => void leaveForProvider(issuer, target).catch(wrong)}>
              Sign in with {name}
            </Button>
          ))}
        </Stack>
      )}
      <SignInForm onDone={() => void navigate({ href: target, replace: true })} />
    </main>
  );
}

/** Completes the sign-in with which a provider sent this browser back. @returns whether one did */
function useAnswer(onFailed: (error: unknown) => void): boolean {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { to: _, ...search } = route.useSearch();
  const [answer] = useState(() => stringifySearch(search).slice(1));
  const isTaken = useRef(false);
  const complete = useEffectEvent(async (): Promise<void> => {
    if (answer === '' || isTaken.current) return;
    // A provider's code is taken once. Neither the address nor the history keeps it.
    isTaken.current = true;
    window.history.replaceState(null, '', window.location.pathname);
    try {
      const to = await openSession(client, { answer });
      await navigate({ href: to ?? `${consolePath}/`, replace: true });
    } catch (error) {
      onFailed(error);
    }
  });
  useEffect(() => void complete(), []);
  return answer !== '';
}
