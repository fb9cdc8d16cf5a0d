/* eslint-disable @typescript-eslint/only-throw-error -- redirects are the router's own way to lead elsewhere */
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { Shell } from '../app/shell.js';
import { ApiError } from '../lib/api.js';
import { screensFor } from '../lib/screens.js';
import { parseSearch, searchParams, stringifySearch, text } from '../lib/search-params.js';
import * as searches from '../lib/searches.js';
import { sessionQuery } from '../lib/session.js';
import { Failed, Loading } from '../ui/states.js';
import { FatalPage, NotFoundPage } from './fallback-pages.js';

interface Context {
  readonly client: QueryClient;
}

const root = createRootRouteWithContext<Context>()({
  notFoundComponent: NotFoundPage,
  errorComponent: FatalPage,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: searchParams({ to: text }),
  component: lazyRouteComponent(() => import('../features/sign-in/sign-in-page.js'), 'SignInPage'),
});

/** Every screen but the one for signing in knows who looks at it. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      return { session: await context.client.ensureQueryData(sessionQuery) };
    } catch (error) {
      if (error instanceof ApiError && error.code === 'unauthorized')
        throw redirect({ to: '/sign-in', search: { to: location.publicHref } });
      throw error;
    }
  },
});

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  validateSearch: searches.periodSearch,
  beforeLoad: ({ context }) => {
    const first = screensFor(context.session)[0]?.to ?? '/settings/about';
    if (first !== '/') throw redirect({ to: first, replace: true });
  },
  component: lazyRouteComponent(() => import('../features/overview/overview-page.js'), 'OverviewPage'),
});

const find = createRoute({
  getParentRoute: () => shell,
  path: '/find',
  validateSearch: searchParams({ id: text }),
  component: lazyRouteComponent(() => import('../features/find/find-page.js'), 'FindPage'),
});

const tools = createRoute({
  getParentRoute: () => shell,
  path: '/tools',
  validateSearch: searches.toolsSearch,
  component: lazyRouteComponent(() => import('../features/tools/tools-page.js'), 'ToolsPage'),
});

const newTool = createRoute({
  getParentRoute: () => shell,
  path: '/tools/new',
  validateSearch: searches.registerSearch,
  component: lazyRouteComponent(() => import('../features/register/register-page.js'), 'RegisterPage'),
});
const editTool = createRoute({
  getParentRoute: () => shell,
  path: '/tools/$name/edit',
  validateSearch: searches.editSearch,
  component: lazyRouteComponent(() => import('../features/register/edit-page.js'), 'EditPage'),
});

const tool = createRoute({
  getParentRoute: () => shell,
  path: '/tools/$name',
  component: lazyRouteComponent(() => import('../features/tool/tool-frame.js'), 'ToolFrame'),
});
const toolHome = createRoute({
  getParentRoute: () => tool,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/tools/$name/activity', params, replace: true });
  },
});
const activity = createRoute({
  getParentRoute: () => tool,
  path: '/activity',
  validateSearch: searches.periodSearch,
  component: lazyRouteComponent(() => import('../features/tool/activity-tab.js'), 'ActivityTab'),
});
const tryIt = createRoute({
  getParentRoute: () => tool,
  path: '/try',
  component: lazyRouteComponent(() => import('../features/tool/try-tab.js'), 'TryTab'),
});
const serverTools = createRoute({
  getParentRoute: () => tool,
  path: '/tools',
  validateSearch: searches.serverToolsSearch,
  component: lazyRouteComponent(() => import('../features/tool/server-tools-tab.js'), 'ServerToolsTab'),
});
const logs = createRoute({
  getParentRoute: () => tool,
  path: '/logs',
  validateSearch: searches.logsSearch,
  component: lazyRouteComponent(() => import('../features/tool/logs-tab.js'), 'LogsTab'),
});
const health = createRoute({
  getParentRoute: () => tool,
  path: '/health',
  validateSearch: searches.periodSearch,
  component: lazyRouteComponent(() => import('../features/tool/health-tab.js'), 'HealthTab'),
});
const circuit = createRoute({
  getParentRoute: () => tool,
  path: '/circuit',
  component: lazyRouteComponent(() => import('../features/tool/circuit-tab.js'), 'CircuitTab'),
});
const revisions = createRoute({
  getParentRoute: () => tool,
  path: '/revisions',
  validateSearch: searches.revisionsSearch,
  component: lazyRouteComponent(() => import('../features/tool/revisions-tab.js'), 'RevisionsTab'),
});
const settings = createRoute({
  getParentRoute: () => tool,
  path: '/settings',
  component: lazyRouteComponent(() => import('../features/tool/settings-tab.js'), 'SettingsTab'),
});

const executions = createRoute({
  getParentRoute: () => shell,
  path: '/executions',
  validateSearch: searches.executionsSearch,
  component: lazyRouteComponent(() => import('../features/executions/executions-page.js'), 'ExecutionsPage'),
});
const execution = createRoute({
  getParentRoute: () => shell,
  path: '/executions/$id',
  component: lazyRouteComponent(() => import('../features/execution/execution-page.js'), 'ExecutionPage'),
});

const replay = createRoute({
  getParentRoute: () => shell,
  path: '/executions/$id/replay',
  validateSearch: searches.replaySearch,
  component: lazyRouteComponent(() => import('../features/replay/replay-page.js'), 'ReplayPage'),
});

const playbooks = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks',
  validateSearch: searches.playbooksSearch,
  component: lazyRouteComponent(() => import('../features/playbooks/playbooks-page.js'), 'PlaybooksPage'),
});
const newPlaybook = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks/new',
  validateSearch: searches.playbookEditSearch,
  component: lazyRouteComponent(() => import('../features/playbook-editor/new-page.js'), 'NewPlaybookPage'),
});
const editPlaybook = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks/$id/edit',
  validateSearch: searches.playbookEditSearch,
  component: lazyRouteComponent(() => import('../features/playbook-editor/edit-page.js'), 'EditPage'),
});
const playbook = createRoute({
  getParentRoute: () => shell,
  path: '/playbooks/$id',
  component: lazyRouteComponent(() => import('../features/playbook/playbook-frame.js'), 'PlaybookFrame'),
});
const playbookHome = createRoute({
  getParentRoute: () => playbook,
  path: '/',
  validateSearch: searches.playbookSearch,
  component: lazyRouteComponent(() => import('../features/playbook/playbook-tab.js'), 'PlaybookTab'),
});
const playbookVersions = createRoute({
  getParentRoute: () => playbook,
  path: '/versions',
  validateSearch: searches.playbookVersionsSearch,
  component: lazyRouteComponent(() => import('../features/playbook/versions-tab.js'), 'VersionsTab'),
});

const investigations = createRoute({
  getParentRoute: () => shell,
  path: '/investigations',
  validateSearch: searches.investigationsSearch,
  component: lazyRouteComponent(
    () => import('../features/investigations/investigations-page.js'),
    'InvestigationsPage',
  ),
});
const investigation = createRoute({
  getParentRoute: () => shell,
  path: '/investigations/$id',
  component: lazyRouteComponent(
    () => import('../features/investigation/investigation-page.js'),
    'InvestigationPage',
  ),
});
const events = createRoute({
  getParentRoute: () => shell,
  path: '/events',
  validateSearch: searches.eventsSearch,
  component: lazyRouteComponent(() => import('../features/events/events-page.js'), 'EventsPage'),
});
const serverSettings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  component: lazyRouteComponent(() => import('../features/settings/settings-frame.js'), 'SettingsFrame'),
});
const settingsHome = createRoute({
  getParentRoute: () => serverSettings,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/about', replace: true });
  },
});
const keys = createRoute({
  getParentRoute: () => serverSettings,
  path: '/keys',
  validateSearch: searches.keysSearch,
  component: lazyRouteComponent(() => import('../features/settings/keys-tab.js'), 'KeysTab'),
});
const audit = createRoute({
  getParentRoute: () => serverSettings,
  path: '/audit',
  validateSearch: searches.auditSearch,
  component: lazyRouteComponent(() => import('../features/settings/audit-tab.js'), 'AuditTab'),
});
const about = createRoute({
  getParentRoute: () => serverSettings,
  path: '/about',
  component: lazyRouteComponent(() => import('../features/settings/about-tab.js'), 'AboutTab'),
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
    tool.addChildren([toolHome, activity, tryIt, health, circuit, serverTools, logs, revisions, settings]),
    executions,
    execution,
    replay,
    playbooks,
    newPlaybook,
    editPlaybook,
    playbook.addChildren([playbookHome, playbookVersions]),
    investigations,
    investigation,
    events,
    serverSettings.addChildren([settingsHome, keys, audit, about]),
    nowhere,
  ]),
]);

export function createAppRouter(client: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: '/console',
    context: { client },
    parseSearch,
    stringifySearch,
    scrollRestoration: true,
    defaultPreload: 'intent',
    defaultPendingComponent: Loading,
    defaultErrorComponent: ({ error, reset }) => <Failed error={error} retry={reset} />,
    defaultNotFoundComponent: NotFoundPage,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
