import type { Scope } from './scopes.js';

/** Title and scope of a route, for the breadcrumb and the rail. */
export interface RouteFacts {
  readonly title: string;
  /** Scope without which the screen is empty. */
  readonly scope?: Scope;
  /** The breadcrumb shows the page's name instead of the id in its address. */
  readonly isNamed?: boolean;
}

interface RailScreen extends RouteFacts {
  readonly to: string;
  readonly group: 'Watch' | 'Build';
}

/** The screens of the rail by group, with the scopes that they need. */
export const screens = {
  overview: { to: '/', title: 'Overview', scope: 'metrics:read', group: 'Watch' },
  executions: { to: '/executions', title: 'Executions', scope: 'metrics:read', group: 'Watch' },
  investigations: { to: '/investigations', title: 'Investigations', scope: 'metrics:read', group: 'Watch' },
  traces: { to: '/traces', title: 'Traces', scope: 'traces:read', group: 'Watch' },
  events: { to: '/events', title: 'Events', scope: 'metrics:read', group: 'Watch' },
  fleet: { to: '/fleet', title: 'Fleet', scope: 'tools:admin', group: 'Watch' },
  tools: { to: '/tools', title: 'Tools', scope: 'tools:call', group: 'Build' },
  playbooks: { to: '/playbooks', title: 'Playbooks', scope: 'tools:call', group: 'Build' },
  experiments: { to: '/experiments', title: 'Experiments', scope: 'traces:read', group: 'Build' },
  connect: { to: '/connect', title: 'Connect', scope: 'tools:call', group: 'Build' },
} as const satisfies Record<string, RailScreen>;

/** The four screens in a phone's bar. */
const pinned: ReadonlySet<string> = new Set(['overview', 'executions', 'events', 'tools']);

const names = Object.keys(screens) as (keyof typeof screens)[];

/** The screens that a key opens, by the name that is also their icon's. Callers without one get all of them: they can sign in. */
export const screensFor = ({ anonymous, scopes }: { anonymous: boolean; scopes: readonly string[] }) =>
  names
    .map((icon) => ({ icon, isPinned: pinned.has(icon), ...screens[icon] }))
    .filter(({ scope }) => anonymous || scopes.includes(scope));
