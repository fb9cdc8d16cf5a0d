import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { SignInForm } from '../../app/sign-in-form.js';
import { consolePath } from '../../lib/server-url.js';
import css from './sign-in.module.css';

const route = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { to } = route.useSearch();
  const navigate = useNavigate();
  // Only paths of this console are allowed, to prevent open redirects.
  const target = to?.startsWith(`${consolePath}/`) === true ? to : `${consolePath}/`;
  return (
    <main className={css.page}>
      <title>Sign in · Toolkeeper</title>
      <h1>Sign in to Toolkeeper</h1>
      <SignInForm onDone={() => void navigate({ href: target, replace: true })} />
    </main>
  );
}
