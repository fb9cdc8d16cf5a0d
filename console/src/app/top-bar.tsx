import { type AnyRoute, Link, useMatches, useRouter } from '@tanstack/react-router';
import { type ReactNode, useSyncExternalStore } from 'react';
import { useConnection } from '../lib/live.js';
import { useMayOpen } from '../lib/may-open.js';
import { useConsoleProject } from '../lib/project.js';
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
      <Person />
      <button type="button" className={css.find} onClick={onFind}>
        <Icon name="search" />
        <span>Search or run a command</span>
        <kbd className={css.kbd}>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <span className={css.live} data-status={status} role="status">
        {connectionTexts[status]}
      </span>
    </header>
  );
}

/** The name of a person who signed in at a provider; the identity behind it shows when pointed at. */
function Person(): ReactNode {
  const { name, keyId } = useSession();
  if (name === null) return null;
  return (
    <span className={css.environment} title={keyId ?? undefined}>
      {name}
    </span>
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

function onTitle(change: () => void): () => void {
  const observer = new MutationObserver(change);
  observer.observe(document.head, { childList: true, subtree: true, characterData: true });
  return () => observer.disconnect();
}

/** The breadcrumb: titles of screens, and the names and ids in the address. */
function Crumbs(): ReactNode {
  const router = useRouter();
  const project = useConsoleProject();
  const mayOpen = useMayOpen();
  const name = useSyncExternalStore(onTitle, () => document.title.replace(/ · Toolkeeper$/, ''));
  const screen = useMatches({ select: (matches) => matches.at(-1) });
  const [parts, patterns] = [screen?.pathname, screen?.fullPath].map((path = '') =>
    path.split('/').filter(Boolean),
  );
  // A screen of the rail needs no breadcrumb, because its heading has its name.
  if (!parts || !patterns || parts.length < 2) return <div className={css.crumbs} />;
  const routes: Readonly<Record<string, AnyRoute>> = router.routesByPath;
  const crumbs = parts.map((part, index) => {
    const [to, pattern] = [parts, patterns].map((all) => `/${all.slice(0, index + 1).join('/')}`);
    const { title, isNamed = false } = routes[pattern ?? '']?.options.staticData ?? {};
    const given = patterns[index]?.startsWith('$') ? isNamed && name : title;
    return { to, isEmpty: !mayOpen(pattern ?? ''), title: given || decodeURIComponent(part) };
  });
  return (
    <nav className={css.crumbs} aria-label="Breadcrumb">
      <ol>
        {crumbs.map(({ to, isEmpty, title }, index) => {
          const isLast = index === crumbs.length - 1;
          return (
            <li key={to} aria-current={isLast ? 'page' : undefined}>
              {isLast || isEmpty ? (
                title
              ) : (
                <Link to={to as '/'} {...(index === 0 && { search: { project } })}>
                  {title}
                </Link>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
