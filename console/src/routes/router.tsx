/* eslint-disable @typescript-eslint/only-throw-error -- redirects are the router's own way to lead elsewhere */
import type { QueryClient } from '@tanstack/react-query';
import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { playbookQuery } from '../lib/playbook-queries.js';
import { projectIn } from '../lib/project.js';
import { customToolsQuery, executionQuery, healthQuery, skeletonQuery, toolsQuery } from '../lib/queries.js';
import { screens, screensFor } from '../lib/screens.js';
import { parseSearch, searchParams, stringifySearch, text } from '../lib/search-params.js';
import * as searches from '../lib/searches.js';
import { consolePath } from '../lib/server-url.js';
import { Failed, Loading } from '../ui/states.js';
import { NotFoundPage } from './fallback-pages.js';
import { root, shell, signIn } from './shell-route.js';
import { tool } from './tool-routes.js';

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  staticData: screens.overview,
  validateSearch: searches.rangeSearch,
  beforeLoad: ({ context }) => {
    const first = screensFor(context.session)[0]?.to ?? '/settings';
    if (first !== '/') throw redirect({ to: first, replace: true });
  },
  loader: ({ context: { client } }) =>
    void Promise.all([client.prefetchQuery(healthQuery), client.prefetchQuery(customToolsQuery)]),
  component: lazyRouteComponent(() => import('../features/overview/overview-page.js'), 'OverviewPage'),
});

const find = createRoute({
  getParentRoute: () => shell,
  path: '/find',
  staticData: { title: 'Find' },
  validateSearch: searchParams({ id: text }),
  component: lazyRouteComponent(() => import('../features/find/find-page.js'), 'FindPage'),
});

const tools = createRoute({
  getParentRoute: () => shell,
  path: '/tools',
  staticData: screens.tools,
  validateSearch: searches.toolsSearch,
  loader: ({ context: { client } }) =>
    void Promise.all([
      client.prefetchQuery(toolsQuery),
      client.prefetchQuery(customToolsQuery),
      client.prefetchQuery(healthQuery),
    ]),
  component: lazyRouteComponent(() => import('../features/tools/tools-page.js'), 'ToolsPage'),
});

const newTool = createRoute({
  getParentRoute: () => shell,
  path: '/tools/new',
  staticData: { title: 'Register a tool', scope: 'tools:admin' },
  validateSearch: searches.registerSearch,
  component: lazyRouteComponent(() => import('./register-screens.js'), 'RegisterPage'),
});
const editTool = createRoute({
  getParentRoute: () => shell,
  path: '/tools/$name/edit',
  staticData: { title: 'Edit', scope: 'tools:admin' },
  validateSearch: searches.editSearch,
  component: lazyRouteComponent(() => import('./register-screens.js'), 'EditToolPage'),
});

const executions = createRoute({
  getParentRoute: () => shell,
  path: '/executions',
  staticData: screens.executions,
  validateSearch: searches.executionsSearch,
  component: lazyRouteComponent(() => import('./execution-screens.js'), 'ExecutionsPage'),
});
const execution = createRoute({
  getParentRoute: () => shell,
  path: '/executions/$id',
  staticData: { title: 'Execution', scope: 'metrics:read' },
  loader: ({ context: { client }, params }) => void client.prefetchQuery(executionQuery(params.id)),
  component: lazyRouteComponent(() => import('./execution-screens.js'), 'ExecutionPage'),
});

const replay = createRoute({
  getParentRoute: () => shell,
  path: '/executions/$id/replay',
  staticData: { title: 'Replay', scope: 'tools:admin' },
  validateSearch: searches.replaySearch,
  component: lazyRouteComponent(() => import('./execution-screens.js'), 'ReplayPage'),
});

const playbooks = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks',
  staticData: screens.playbooks,
  validateSearch: searches.playbooksSearch,
  component: lazyRouteComponent(() => import('./playbook-screens.js'), 'PlaybooksPage'),
});
const newPlaybook = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks/new',
  staticData: { title: 'New playbook', scope: 'playbooks:write' },
  validateSearch: searches.playbookEditSearch,
  component: lazyRouteComponent(() => import('./playbook-screens.js'), 'NewPlaybookPage'),
});
const editPlaybook = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks/$id/edit',
  staticData: { title: 'Edit', scope: 'playbooks:write' },
  validateSearch: searches.playbookEditSearch,
  component: lazyRouteComponent(() => import('./playbook-screens.js'), 'EditPlaybookPage'),
});
const playbook = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks/$id',
  staticData: { title: 'Playbook', scope: 'tools:call' },
  loader: ({ context: { client }, params }) => void client.prefetchQuery(playbookQuery(params.id)),
  component: lazyRouteComponent(() => import('./playbook-screens.js'), 'PlaybookFrame'),
});
const playbookHome = createRoute({
  getParentRoute: () => playbook,
  path: '/',
  validateSearch: searches.playbookSearch,
  component: lazyRouteComponent(() => import('./playbook-screens.js'), 'PlaybookTab'),
});
const playbookVersions = createRoute({
  getParentRoute: () => playbook,
  path: '/versions',
  staticData: { title: 'Versions', scope: 'tools:call' },
  validateSearch: searches.playbookVersionsSearch,
  component: lazyRouteComponent(() => import('./playbook-screens.js'), 'VersionsTab'),
});

const investigations = createRoute({
  getParentRoute: () => shell,
  path: '/investigations',
  staticData: screens.investigations,
  validateSearch: searches.investigationsSearch,
  component: lazyRouteComponent(() => import('./investigation-screens.js'), 'InvestigationsPage'),
});
const investigation = createRoute({
  getParentRoute: () => shell,
  path: '/investigations/$id',
  staticData: { title: 'Investigation', scope: 'metrics:read' },
  validateSearch: searches.investigationSearch,
  component: lazyRouteComponent(() => import('./investigation-screens.js'), 'InvestigationPage'),
});
const traces = createRoute({
  getParentRoute: () => shell,
  path: '/traces',
  staticData: screens.traces,
  validateSearch: searches.tracesSearch,
  component: lazyRouteComponent(() => import('./trace-screens.js'), 'TracesPage'),
});
const trace = createRoute({
  getParentRoute: () => shell,
  path: '/traces/$id',
  staticData: { title: 'Trace', scope: 'traces:read', isNamed: true },
  validateSearch: searches.traceSearch,
  loader: ({ context, params, cause, location }) => {
    const { project }: { project?: unknown } = location.search;
    if (cause !== 'preload' && context.isProjectNow(project))
      void context.client.prefetchQuery(skeletonQuery(params.id));
  },
  component: lazyRouteComponent(() => import('./trace-screens.js'), 'TracePage'),
});
const compare = createRoute({
  getParentRoute: () => shell,
  path: '/traces/compare',
  staticData: { title: 'Compare', scope: 'traces:read' },
  validateSearch: searches.compareSearch,
  component: lazyRouteComponent(() => import('./trace-screens.js'), 'ComparePage'),
});
const experiments = createRoute({
  getParentRoute: () => shell,
  path: '/experiments',
  staticData: screens.experiments,
  component: lazyRouteComponent(() => import('./experiment-screens.js'), 'ExperimentsPage'),
});
const newExperiment = createRoute({
  getParentRoute: () => shell,
  path: '/experiments/new',
  staticData: { title: 'New experiment', scope: 'traces:read' },
  validateSearch: searches.experimentSearch,
  component: lazyRouteComponent(() => import('./experiment-screens.js'), 'NewExperimentPage'),
});
const experiment = createRoute({
  getParentRoute: () => shell,
  path: '/experiments/$id',
  staticData: { title: 'Experiment', scope: 'traces:read' },
  validateSearch: searches.experimentSearch,
  component: lazyRouteComponent(() => import('./experiment-screens.js'), 'ExperimentPage'),
});
const connect = createRoute({
  getParentRoute: () => shell,
  path: '/connect',
  staticData: screens.connect,
  loader: ({ context: { client } }) => void client.prefetchQuery(toolsQuery),
  component: lazyRouteComponent(() => import('../features/overview/connect-page.js'), 'ConnectPage'),
});
const events = createRoute({
  getParentRoute: () => shell,
  path: '/events',
  staticData: screens.events,
  validateSearch: searches.eventsSearch,
  component: lazyRouteComponent(() => import('../features/events/events-page.js'), 'EventsPage'),
});
const fleet = createRoute({
  getParentRoute: () => shell,
  path: '/fleet',
  staticData: screens.fleet,
  component: lazyRouteComponent(() => import('../features/fleet/fleet-page.js'), 'FleetPage'),
});
const serverSettings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  staticData: { title: 'Settings' },
  component: lazyRouteComponent(() => import('./settings-screens.js'), 'SettingsFrame'),
});
const settingsHome = createRoute({
  getParentRoute: () => serverSettings,
  path: '/',
  staticData: { title: 'Settings' },
  beforeLoad: ({ context }) => {
    const isAuditor =
      context.session.scopes.includes('audit:read') && screensFor(context.session).length === 0;
    throw redirect({ to: isAuditor ? '/settings/audit' : '/settings/about', replace: true });
  },
});
const keys = createRoute({
  getParentRoute: () => serverSettings,
  path: '/keys',
  staticData: { title: 'API keys', scope: 'admin' },
  validateSearch: searches.keysSearch,
  component: lazyRouteComponent(() => import('./settings-screens.js'), 'KeysTab'),
});
const accounts = createRoute({
  getParentRoute: () => serverSettings,
  path: '/accounts',
  staticData: { title: 'Accounts', scope: 'tools:call' },
  validateSearch: searchParams({ link: text }),
  component: lazyRouteComponent(() => import('./settings-screens.js'), 'AccountsTab'),
});
const audit = createRoute({
  getParentRoute: () => serverSettings,
  path: '/audit',
  staticData: { title: 'Audit', scope: 'audit:read' },
  validateSearch: searches.auditSearch,
  component: lazyRouteComponent(() => import('./settings-screens.js'), 'AuditTab'),
});
const about = createRoute({
  getParentRoute: () => serverSettings,
  path: '/about',
  staticData: { title: 'About' },
  component: lazyRouteComponent(() => import('./settings-screens.js'), 'AboutTab'),
});
const nowhere = createRoute({ getParentRoute: () => shell, path: '$', component: NotFoundPage });

const tree = root.addChildren([
  signIn,
  shell.addChildren([
    overview,
    find,
    tools,
    newTool,
    editTool,
    tool,
    executions,
    execution,
    replay,
    playbooks,
    newPlaybook,
    editPlaybook,
    playbook.addChildren([playbookHome, playbookVersions]),
    investigations,
    investigation,
    traces,
    trace,
    compare,
    experiments,
    newExperiment,
    experiment,
    connect,
    events,
    fleet,
    serverSettings.addChildren([settingsHome, keys, accounts, audit, about]),
    nowhere,
  ]),
]);

export function createAppRouter(client: QueryClient) {
  const router = createRouter({
    routeTree: tree,
    basepath: consolePath,
    context: { client, isProjectNow: (project): boolean => project === projectIn(router) },
    parseSearch,
    stringifySearch,
    scrollRestoration: true,
    defaultPreload: 'intent',
    defaultPendingComponent: Loading,
    defaultErrorComponent: ({ error, reset }) => <Failed error={error} retry={reset} />,
    defaultNotFoundComponent: NotFoundPage,
  });
  return router;
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
