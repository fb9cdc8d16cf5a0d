/* eslint-disable @typescript-eslint/only-throw-error -- redirects are the router's own way to lead elsewhere */
import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { customToolsQuery, healthQuery } from '../lib/queries.js';
import * as searches from '../lib/searches.js';
import { shell } from './shell-route.js';

const frame = createRoute({
  getParentRoute: () => shell,
  path: '/tools/$name',
  validateSearch: searches.toolSearch,
  staticData: { title: 'Tool' },
  loader: ({ context: { client } }) =>
    void Promise.all([client.prefetchQuery(customToolsQuery), client.prefetchQuery(healthQuery)]),
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'ToolFrame'),
});
const toolHome = createRoute({
  getParentRoute: () => frame,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/tools/$name/activity', params, replace: true });
  },
});
const activity = createRoute({
  getParentRoute: () => frame,
  path: '/activity',
  staticData: { title: 'Activity', scope: 'metrics:read' },
  validateSearch: searches.rangeSearch,
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'ActivityTab'),
});
const tryIt = createRoute({
  getParentRoute: () => frame,
  path: '/try',
  staticData: { title: 'Try', scope: 'tools:call' },
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'TryTab'),
});
const serverTools = createRoute({
  getParentRoute: () => frame,
  path: '/tools',
  staticData: { title: 'Tools of the server', scope: 'metrics:read' },
  validateSearch: searches.serverToolsSearch,
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'ServerToolsTab'),
});
const logs = createRoute({
  getParentRoute: () => frame,
  path: '/logs',
  staticData: { title: 'Logs', scope: 'tools:admin' },
  validateSearch: searches.logsSearch,
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'LogsTab'),
});
const health = createRoute({
  getParentRoute: () => frame,
  path: '/health',
  staticData: { title: 'Health', scope: 'metrics:read' },
  validateSearch: searches.rangeSearch,
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'HealthTab'),
});
const circuit = createRoute({
  getParentRoute: () => frame,
  path: '/circuit',
  staticData: { title: 'Circuit', scope: 'metrics:read' },
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'CircuitTab'),
});
const revisions = createRoute({
  getParentRoute: () => frame,
  path: '/revisions',
  staticData: { title: 'Revisions', scope: 'metrics:read' },
  validateSearch: searches.revisionsSearch,
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'RevisionsTab'),
});
const settings = createRoute({
  getParentRoute: () => frame,
  path: '/settings',
  staticData: { title: 'Settings', scope: 'metrics:read' },
  component: lazyRouteComponent(() => import('./tool-screens.js'), 'SettingsTab'),
});

/** The screens of one tool. */
export const tool = frame.addChildren([
  toolHome,
  activity,
  tryIt,
  health,
  circuit,
  serverTools,
  logs,
  revisions,
  settings,
]);
