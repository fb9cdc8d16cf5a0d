import { useRouter } from '@tanstack/react-router';
import { useContext } from 'react';
import { pageOf } from '../../bridge/navigation.js';
import { LinkContext, usePageLink } from '../../bridge/use-page.js';

interface PageAccess {
  /** The open screen, described for the model. */
  readonly read: () => object;
  /** The tab that tools of the page act on; undefined: it is not connected. */
  readonly uiSession: string | undefined;
  /** Names of the tools that the page answers. */
  readonly tools: readonly string[];
}

export function usePage(): PageAccess {
  const router = useRouter();
  const link = useContext(LinkContext);
  const { session } = usePageLink();
  return {
    read: () => {
      const { route, context } = pageOf(router);
      return { url: route, ...context };
    },
    uiSession: session,
    tools: session === undefined ? [] : (link?.tools.names() ?? []),
  };
}
