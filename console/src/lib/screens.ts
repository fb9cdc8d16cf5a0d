import type { Scope } from './scopes.js';

/** What a route says about itself, for the breadcrumb and for whoever lists the screens. */
export interface RouteFacts {
  readonly title: string;
  /** Scope without which the screen is empty. */
  readonly scope?: Scope;
}

interface RailScreen extends RouteFacts {
  readonly to: string;
  /** Name of an icon. */
  readonly icon: string;
  /** Whether it is one of the four in a phone's bar. */
  readonly isPinned: boolean;
  readonly group: 'Watch' | 'Build';
}

/** The screens of the rail by group, in the order in which an operator asks, with the scope that each needs. */
export const screens = {
  overview: {
    to: '/',
    title: 'Overview',
    icon: 'overview',
    isPinned: true,
    scope: 'metrics:read',
    group: 'Watch',
  },
  executions: {
    to: '/executions',
    title: 'Executions',
    icon: 'executions',
    isPinned: true,
    scope: 'metrics:read',
    group: 'Watch',
  },
  investigations: {
    to: '/investigations',
    title: 'Investigations',
    icon: 'investigations',
    isPinned: false,
    scope: 'metrics:read',
    group: 'Watch',
  },
  traces: {
    to: '/traces',
    title: 'Traces',
    icon: 'traces',
    isPinned: false,
    scope: 'traces:read',
    group: 'Watch',
  },
  events: {
    to: '/events',
    title: 'Events',
    icon: 'events',
    isPinned: true,
    scope: 'metrics:read',
    group: 'Watch',
  },
  tools: { to: '/tools', title: 'Tools', icon: 'tools', isPinned: true, scope: 'tools:call', group: 'Build' },
  playbooks: {
    to: '/playbooks',
    title: 'Playbooks',
    icon: 'playbooks',
    isPinned: false,
    scope: 'tools:call',
    group: 'Build',
  },
  experiments: {
    to: '/experiments',
    title: 'Experiments',
    icon: 'experiments',
    isPinned: false,
    scope: 'traces:read',
    group: 'Build',
  },
} as const satisfies Record<string, RailScreen>;

/** The screens that a key opens. Callers without one get all of them: they can sign in. */
export const screensFor = ({ anonymous, scopes }: { anonymous: boolean; scopes: readonly string[] }) =>
  Object.values(screens).filter(({ scope }) => anonymous || scopes.includes(scope));
