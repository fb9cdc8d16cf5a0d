import { type AnyRoute, useRouter } from '@tanstack/react-router';
import { useSession } from './session.js';

/** Whether a screen, by its route or its path, shows the caller anything. A caller without a key may sign in. */
export function useMayOpen(): (to: string) => boolean {
  const { anonymous, scopes } = useSession();
  const routes: Readonly<Record<string, AnyRoute>> = useRouter().routesByPath;
  return (to) => {
    const scope = routes[to.split('?')[0] ?? to]?.options.staticData?.scope;
    return scope === undefined || anonymous || scopes.includes(scope);
  };
}
