import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { ask, getExecution, listExecutions } from '../../lib/api.js';
import { Page } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';

const route = getRouteApi('/shell/find');

/** The kinds of ids under which a list of executions can be asked for, and where that list is shown. */
const kinds = [
  { filter: 'investigationId', search: 'investigation' },
  { filter: 'runId', search: 'run' },
  { filter: 'requestId', search: 'request' },
  { filter: 'sessionId', search: 'session' },
  { filter: 'userId', search: 'user' },
] as const;

/** @returns the address of what has this id; null where nothing has it */
async function placeOf(id: string, signal: AbortSignal): Promise<string | null> {
  const lists = kinds.map(async ({ filter, search }) => {
    const { data } = await ask(listExecutions({ query: { [filter]: id, limit: 1 }, signal }));
    return data.length > 0 ? `/console/executions?${search}=${encodeURIComponent(id)}` : null;
  });
  const isExecution = ask(getExecution({ path: { id }, signal })).then(
    () => `/console/executions/${encodeURIComponent(id)}`,
    () => null,
  );
  return (await Promise.all([isExecution, ...lists])).find((place) => place !== null) ?? null;
}

/** Leads to whatever has an id: an execution, or the executions of an investigation, run, request, session or user. */
export function FindPage(): ReactNode {
  const { id = '' } = route.useSearch();
  const query = useQuery({
    queryKey: ['executions', 'find', id],
    queryFn: ({ signal }) => placeOf(id, signal),
    enabled: id !== '',
  });
  const navigate = useNavigate();
  const place = query.data;
  useEffect(() => {
    if (place) void navigate({ href: place, replace: true });
  }, [place, navigate]);
  return (
    <Page name="Find" about={id}>
      {id === '' ? (
        <Empty title="No id was given" />
      ) : (
        <Loaded query={query}>
          {(found) =>
            found === null && (
              <Empty title="Nothing has this id">
                <p>
                  No execution is called <code>{id}</code>, and no investigation, run, request, session or
                  user of that name has one that is still kept.
                </p>
              </Empty>
            )
          }
        </Loaded>
      )}
    </Page>
  );
}
