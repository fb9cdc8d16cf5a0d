/* eslint-disable @typescript-eslint/only-throw-error -- redirects are the router's own way to lead elsewhere */
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { Shell } from '../app/shell.js';
import { Assistant } from '../features/assistant/assistant.js';
import { ApiError } from '../lib/api.js';
import type { RouteFacts } from '../lib/screens.js';
import { searchParams, text } from '../lib/search-params.js';
import { projectsQuery } from '../lib/project.js';
import { shellSearch } from '../lib/searches.js';
import { sessionQuery } from '../lib/session.js';
import { FatalPage, NotFoundPage } from './fallback-pages.js';

declare module '@tanstack/react-router' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- the router reads the type of its routes' facts here
  interface StaticDataRouteOption extends Partial<RouteFacts> {}
}

interface Context {
  readonly client: QueryClient;
  /** Whether a project is that of the screen that is shown: requests go to it until the next one is. */
  readonly isProjectNow: (project: unknown) => boolean;
}

export const root = createRootRouteWithContext<Context>()({
  notFoundComponent: NotFoundPage,
  errorComponent: FatalPage,
});

export const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  staticData: { title: 'Sign in' },
  // A provider sends the browser back with all but the first.
  validateSearch: searchParams({
    ...{ to: text, code: text, state: text, iss: text },
    ...{ error: text, error_description: text },
  }),
  component: lazyRouteComponent(() => import('../features/sign-in/sign-in-page.js'), 'SignInPage'),
});

/** Every screen but the one for signing in knows who looks at it. */
export const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  validateSearch: shellSearch,
  // Every link of a screen leads to the same project, unless it names another.
  search: { middlewares: [({ search, next }) => ({ project: search.project, ...next(search) })] },
  component: () => <Shell beside={<Assistant />} />,
  beforeLoad: async ({ context, location, search }) => {
    try {
      const session = await context.client.ensureQueryData(sessionQuery);
      // Lists ask for each project from the start.
      await context.client.ensureQueryData(projectsQuery).catch(() => undefined);
      const [project, second] = session.projects ?? [];
      // A key of several projects looks at one after the other.
      if (second !== undefined && search.project === undefined)
        throw redirect({
          to: location.pathname as '/',
          search: { ...location.search, project },
          replace: true,
        });
      return { session };
    } catch (error) {
      if (error instanceof ApiError && error.code === 'unauthorized')
        throw redirect({ to: '/sign-in', search: { to: location.publicHref } });
      throw error;
    }
  },
});
