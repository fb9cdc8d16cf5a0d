import { type AnyRouter, useRouter } from '@tanstack/react-router';
import { type LabelChange, useLabelFilter } from '../lib/label-filter.js';
import { nearest } from '../lib/nearest.js';
import { withoutConsole } from '../lib/server-url.js';
import type { PageView } from './page-link.js';
import type { PageTools } from './page-tools.js';
import { experimentUrl, type Json } from './ui-events.js';
import { useUiTool } from './use-page.js';

const settleMs = 4_000;
const stepMs = 50;
const shownScreens = 3;
const maxRoute = 2_048;
/** A tool that the screen answers as soon as it shows what it is for. */
const readyWith: Readonly<Record<string, string>> = {
  '/traces/$id': 'highlight_spans',
  '/experiments/new': 'get_experiment_data',
  '/experiments/$id': 'get_experiment_data',
};
/** The route of unknown addresses. */
const nowhere = '/$';

/** The screen that is open: its address, and for agents its title, name and parameters. */
export function pageOf(router: AnyRouter): PageView {
  const { pathname, searchStr } = router.latestLocation;
  const title = document.title.replace(/ · Toolkeeper$/, '');
  const [, params] = router.getMatchedRoutes(pathname);
  const context = { title, screen: screenOf(router, pathname), params: { ...params } };
  return { route: `${pathname}${searchStr}`.slice(0, maxRoute), context };
}

/** The tools that every screen answers. */
export function useNavigationTools(tools: PageTools): void {
  const router: AnyRouter = useRouter();
  const filter = useLabelFilter();
  const current = (): Json => {
    const { route, context } = pageOf(router);
    const search = { ...(router.latestLocation.search as Json) };
    return { url: route, ...context, search, offers: tools.names() };
  };
  const navigate = async (url: string): Promise<Json> => {
    const target = targetOf(url);
    if (screenOf(router, target.pathname) === undefined)
      return {
        success: false,
        url,
        error: `No screen has the address ${url}`,
        nearest: nearestTo(router, target),
      };
    const ready = readyWith[screenOf(router, target.pathname) ?? ''];
    const isReady = (): boolean => ready === undefined || tools.names().includes(ready);
    const until = performance.now() + settleMs;
    await Promise.race([router.navigate({ href: target.pathname + target.search }), pause(settleMs)]);
    while (!isReady() && performance.now() < until) await pause(stepMs);
    const navigated = router.latestLocation.pathname === target.pathname;
    return { success: true, url, navigated, context: current() };
  };
  useUiTool('get_current_page', current);
  useUiTool('navigate_to', ({ url }) => navigate(url as string));
  useUiTool('navigate_to_experiment', async (input) => {
    const answer = await navigate(experimentUrl(input));
    const error = 'No experiment can start from this span: the page says why';
    return tools.names().includes('get_experiment_data') ? answer : { ...answer, success: false, error };
  });
  useUiTool('apply_label_filter', async ({ labels = [], ...change }) => {
    await filter({
      ...(change as Pick<LabelChange, 'action' | 'view'>),
      labels: [labels].flat() as string[],
    });
    return { success: true };
  });
}

/** The path and query below the console. @throws Error for an address elsewhere */
function targetOf(url: string): URL {
  const target = URL.canParse(url, window.location.origin) ? new URL(url, window.location.origin) : undefined;
  if (!/^\/(?![/\\])/.test(url) || target?.origin !== window.location.origin)
    throw new Error('url must be a path of the console that begins with a single /, such as /traces');
  target.pathname = withoutConsole(target.pathname);
  return target;
}

/** The pattern of the screen that an address opens; undefined if there is none. */
function screenOf(router: AnyRouter, pathname: string): string | undefined {
  const [, , route] = router.getMatchedRoutes(pathname);
  return route === undefined || route.fullPath === nowhere ? undefined : (route.fullPath as string);
}

const nearestTo = ({ routesByPath }: AnyRouter, { pathname }: URL): string[] =>
  nearest(
    pathname,
    Object.keys(routesByPath).filter((path) => path !== nowhere),
    shownScreens,
  );

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
