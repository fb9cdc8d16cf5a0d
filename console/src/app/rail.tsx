import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { screensFor } from '../lib/screens.js';
import { endSession, useSession } from '../lib/session.js';
import { Icon } from '../ui/icons.js';
import { useFailed } from '../ui/toasts.js';
import { useShownInSight } from '../ui/use-shown-in-sight.js';
import css from './shell.module.css';

export function Rail({ onHelp }: { readonly onHelp: () => void }): ReactNode {
  const screens = screensFor(useSession());
  const bar = useShownInSight(screens.length);
  return (
    <nav ref={bar} className={css.rail} aria-label="Screens">
      <Link to="/" className={css.brand}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="#2c5fd6" />
          <path d="M9 9h14v4h-5v11h-4V13H9z" fill="#fff" />
        </svg>
        Toolkeeper
      </Link>
      <ul>
        {screens.map(({ to, name, icon }) => (
          <li key={to}>
            <Link to={to} className={css.entry} activeOptions={{ exact: to === '/', includeSearch: false }}>
              <Icon name={icon} />
              {name}
            </Link>
          </li>
        ))}
      </ul>
      <ul className={css.below}>
        <li>
          <a className={css.entry} href="/docs">
            <Icon name="docs" />
            API docs
          </a>
        </li>
        <li>
          <Link to="/settings" className={css.entry} activeOptions={{ includeSearch: false }}>
            <Icon name="settings" />
            Settings
          </Link>
        </li>
        <li>
          <button type="button" className={css.entry} onClick={onHelp}>
            <Icon name="keyboard" />
            Keyboard
          </button>
        </li>
        <li>
          <SessionEntry />
        </li>
      </ul>
    </nav>
  );
}

function SessionEntry(): ReactNode {
  const { anonymous, userId, scopes } = useSession();
  const failed = useFailed();
  if (anonymous && scopes.includes('admin'))
    return <p className={css.open}>Everybody may do everything here: AUTH_MODE is off</p>;
  if (anonymous) {
    return (
      <Link to="/sign-in" className={css.entry}>
        <Icon name="session" />
        Sign in
      </Link>
    );
  }
  return (
    <button
      type="button"
      className={css.entry}
      onClick={() => void endSession().catch(failed)}
      title={`Signed in as ${userId}`}
    >
      <Icon name="session" />
      Sign out
    </button>
  );
}
