import { Link, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useConnection } from '../lib/live.js';
import type { Connection } from '../lib/server-stream.js';
import { useSession } from '../lib/session.js';
import { tierName } from '../lib/tiers.js';
import { Icon } from '../ui/icons.js';
import css from './shell.module.css';

const connectionTexts: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Not connected',
  paused: 'Paused',
  off: 'Not live',
};

export function TopBar({ onFind }: { readonly onFind: () => void }): ReactNode {
  const status = useConnection();
  const isMac = navigator.platform.startsWith('Mac');
  return (
    <header className={css.bar}>
      <Crumbs />
      <Environment />
      <button type="button" className={css.find} onClick={onFind}>
        <Icon name="search" />
        <span>Find or do</span>
        <kbd className={css.kbd}>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <span className={css.live} data-status={status} role="status">
        {connectionTexts[status]}
      </span>
    </header>
  );
}

/** Server information: the sandbox tier, the database and the replica that answered. */
function Environment(): ReactNode {
  const { environment } = useSession();
  if (!environment) return null;
  const { sandboxTier: tier, database, replica, version } = environment;
  const sandbox = tier === null ? 'no custom tools' : `sandbox ${tier} (${tierName(tier)})`;
  return (
    <span className={css.environment} title={`Toolkeeper ${version} on ${replica}`}>
      {sandbox} · {database} database
    </span>
  );
}

function Crumbs(): ReactNode {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const parts = path
    .replace(/^\/console/, '')
    .split('/')
    .filter(Boolean);
  // A screen of the rail has its name there and as its heading.
  if (parts.length < 2) return <div className={css.crumbs} />;
  return (
    <nav className={css.crumbs} aria-label="Breadcrumb">
      <ol>
        {parts.map((part, index) => (
          <li
            key={parts.slice(0, index + 1).join('/')}
            aria-current={index === parts.length - 1 ? 'page' : undefined}
          >
            {index === parts.length - 1 ? (
              nameOf(part)
            ) : (
              <Link to={`/${parts.slice(0, index + 1).join('/')}` as '/'}>{nameOf(part)}</Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Screens are written with a capital letter; names and ids stay as they are. */
function nameOf(part: string): string {
  const text = decodeURIComponent(part);
  return screenNames.has(text) ? text.charAt(0).toUpperCase() + text.slice(1).replaceAll('-', ' ') : text;
}

const screenNames = new Set(
  (
    'tools executions investigations playbooks events settings sign-in new edit replay activity try health ' +
    'circuit logs revisions keys audit about versions find'
  ).split(' '),
);
