import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { applyTheme, chosenTheme } from './app/theme.js';
import { ApiError } from './lib/api.js';
import { followProject } from './lib/project.js';
import { redeemLink, shareSession } from './lib/session.js';
import { createAppRouter } from './routes/router.js';
import './ui/tokens.css';

applyTheme(chosenTheme());

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal would come again; a request that did not reach the server may work in a moment.
      retry: (failures, error) => !(error instanceof ApiError && error.status > 0) && failures < 2,
    },
  },
});
const router = createAppRouter(client);
followProject(router, client);

/** After what is looked at is drawn. */
const aheadMs = 2_000;

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
/** A link that does not sign in (any more) leaves the visitor where one without a link is. */
const followLink = (): Promise<void> => redeemLink(client).catch(() => undefined);
// A link that is pasted into an open console changes nothing but the fragment.
window.addEventListener('hashchange', () => void followLink());
shareSession();
await followLink();
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
// The other screens are fetched ahead: a server that goes away takes none of them along.
setTimeout(() => {
  for (const route of Object.values(router.routesById))
    void router.loadRouteChunk(route)?.catch(() => undefined);
}, aheadMs);
