import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { SignInForm } from '../../app/sign-in-form.js';
import css from './sign-in.module.css';

const route = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { to } = route.useSearch();
  const navigate = useNavigate();
  // Only addresses of this console are led to: a link from elsewhere must not choose where a signed-in person lands.
  const target = to?.startsWith('/console/') === true ? to : '/console/';
  return (
    <main className={css.page}>
      <title>Sign in · Toolkeeper</title>
      <h1>Sign in to Toolkeeper</h1>
      <SignInForm onDone={() => void navigate({ href: target, replace: true })} />
    </main>
  );
}
