import { createContext, useContext, useEffect, useEffectEvent, useSyncExternalStore } from 'react';
import type { PageLink } from './page-link.js';
import type { UiHandler } from './page-tools.js';

export const LinkContext = createContext<PageLink | undefined>(undefined);

/** Answers a tool while the view is mounted. */
export function useUiTool(name: string, handler: UiHandler): void {
  const link = useContext(LinkContext);
  const answer = useEffectEvent(handler);
  useEffect(() => link?.tools.register(name, (input) => answer(input)), [link, name]);
}

const idle = { session: undefined, guests: [], acts: [] };
const never = (): (() => void) => () => undefined;

/** The tab's session, the other keys with access to it, and their actions. */
export function usePageLink() {
  const link = useContext(LinkContext);
  const state = useSyncExternalStore(link?.subscribe ?? never, link?.read ?? (() => idle));
  return { ...state, forgetActs: () => link?.forgetActs() };
}
