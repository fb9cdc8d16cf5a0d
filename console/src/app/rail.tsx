import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useConsoleProject, useListOfThing, useProjects } from '../lib/project.js';
import { screensFor } from '../lib/screens.js';
import { serverUrl } from '../lib/server-url.js';
import { endSession, useSession } from '../lib/session.js';
import { Icon, type IconName } from '../ui/icons.js';
import { useFailed } from '../ui/toasts.js';
import css from './shell.module.css';

// Most of the weight of a select is its list, which the first screen can do without.
const Select = lazy(() => import('../ui/select.js').then(({ Select: it }) => ({ default: it })));

const groups = ['Watch', 'Build'] as const;
const storageName = 'toolkeeper.rail';

function useCollapsed(): readonly [boolean, () => void] {
  const [isCollapsed, setCollapsed] = useState(
    () => window.localStorage.getItem(storageName) === 'collapsed',
  );
  const toggle = (): void => {
    window.localStorage.setItem(storageName, isCollapsed ? 'wide' : 'collapsed');
    setCollapsed(!isCollapsed);
  };
  return [isCollapsed, toggle];
}

/** All screens; on a phone a bar at the bottom with the pinned ones, which "More" opens. */
export function Rail({ onHelp }: { readonly onHelp: () => void }): ReactNode {
  const screens = screensFor(useSession());
  const [isCollapsed, toggle] = useCollapsed();
  const [isOpen, setOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => setOpen(false), [path]);
  return (
    <nav
      className={css.rail}
      aria-label="Screens"
      data-collapsed={isCollapsed ? '' : undefined}
      data-open={isOpen ? '' : undefined}
    >
      <Link to="/" className={css.brand} title="Toolkeeper">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="var(--accent-fill)" />
          <path d="M9 9h14v4h-5v11h-4V13H9z" fill="var(--on-accent)" />
        </svg>
        <span>Toolkeeper</span>
      </Link>
      <ProjectSwitch />
      {groups.map((group) => (
        <RailGroup key={group} name={group} screens={screens.filter((each) => each.group === group)} />
      ))}
      <Below isCollapsed={isCollapsed} onCollapse={toggle} onHelp={onHelp} />
      <div className={css.more}>
        <RailButton
          icon="more"
          name={isOpen ? 'Less' : 'More'}
          isOpen={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
      </div>
    </nav>
  );
}

/** Chooses the project of all screens; renders nothing for callers with only one. */
function ProjectSwitch(): ReactNode {
  const { projects, hasAll } = useProjects();
  const project = useConsoleProject();
  const navigate = useNavigate();
  const thing = useListOfThing();
  const choose = (chosen: string | undefined): void =>
    // The thing that is shown belongs to one project, so another project leads to its list.
    void navigate({
      to: thing ?? '.',
      search: (old) => ({ ...(thing === undefined && old), project: chosen }),
      resetScroll: false,
    });
  if (projects.length < 2) return null;
  return (
    <div className={css.project} data-chosen={project === undefined ? undefined : ''}>
      <Suspense>
        <Select
          label="Project"
          value={project}
          options={projects}
          none={hasAll ? 'All projects' : undefined}
          onChange={choose}
        />
      </Suspense>
    </div>
  );
}

interface BelowProps {
  readonly isCollapsed: boolean;
  readonly onCollapse: () => void;
  readonly onHelp: () => void;
}

const Below = ({ isCollapsed, onCollapse, onHelp }: BelowProps): ReactNode => (
  <ul className={css.below}>
    <li>
      <a className={css.entry} href={`${serverUrl}/docs`} title="API docs">
        <Icon name="docs" />
        <span>API docs</span>
      </a>
    </li>
    <li>
      <Link to="/settings" className={css.entry} title="Settings" activeOptions={{ includeSearch: false }}>
        <Icon name="settings" />
        <span>Settings</span>
      </Link>
    </li>
    <li>
      <RailButton icon="keyboard" name="Keyboard" onClick={onHelp} />
    </li>
    <li>
      <SessionEntry />
    </li>
    <li className={css.collapse}>
      <RailButton icon="collapse" name={isCollapsed ? 'Expand' : 'Collapse'} onClick={onCollapse} />
    </li>
  </ul>
);

interface RailGroupProps {
  readonly name: string;
  readonly screens: ReturnType<typeof screensFor>;
}

function RailGroup({ name, screens }: RailGroupProps): ReactNode {
  const project = useConsoleProject();
  if (screens.length === 0) return null;
  return (
    <>
      <span className={css.group} id={`rail-${name}`}>
        {name}
      </span>
      <ul aria-labelledby={`rail-${name}`}>
        {screens.map(({ to, title, icon, isPinned }) => (
          <li key={to} data-pinned={isPinned ? '' : undefined}>
            <Link
              to={to}
              search={{ project }}
              className={css.entry}
              title={title}
              activeOptions={{ exact: to === '/', includeSearch: false }}
            >
              <Icon name={icon} />
              <span>{title}</span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

interface RailButtonProps {
  readonly icon: IconName;
  readonly name: string;
  /** A longer text than the name, for the pointer. */
  readonly hint?: string;
  readonly isOpen?: boolean;
  readonly onClick: () => void;
}

const RailButton = ({ icon, name, hint = name, isOpen, onClick }: RailButtonProps): ReactNode => (
  <button type="button" className={css.entry} title={hint} aria-expanded={isOpen} onClick={onClick}>
    <Icon name={icon} />
    <span>{name}</span>
  </button>
);

function SessionEntry(): ReactNode {
  const { anonymous, userId, scopes } = useSession();
  const failed = useFailed();
  if (anonymous && scopes.includes('admin'))
    return <p className={css.open}>Everybody may do everything here: AUTH_MODE is off</p>;
  if (anonymous)
    return (
      <Link to="/sign-in" className={css.entry} title="Sign in">
        <Icon name="session" />
        <span>Sign in</span>
      </Link>
    );
  const leave = (): void => void endSession().catch(failed);
  return <RailButton icon="session" name="Sign out" hint={`Signed in as ${userId}`} onClick={leave} />;
}
