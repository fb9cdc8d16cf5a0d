import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { ask, findById, type FoundIdView, getExecution, listExecutions } from '../../lib/api.js';
import { consolePath } from '../../lib/server-url.js';
import { buttonLook } from '../../ui/controls.js';
import { Page } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';

const route = getRouteApi('/shell/find');

/** The kinds of ids under which executions can be asked for, and where those of one are shown. */
const kinds = [
  { filter: 'investigationId', place: '/investigations/' },
  { filter: 'runId', place: '/executions?run=' },
  { filter: 'requestId', place: '/executions?request=' },
  { filter: 'sessionId', place: '/executions?session=' },
  { filter: 'userId', place: '/executions?user=' },
] as const;

/** Things that have an id: a page of executions, or spans. */
interface Found {
  readonly place: string | null;
  readonly spans: readonly FoundIdView[];
}

async function whatHas(id: string, signal: AbortSignal): Promise<Found> {
  const lists = kinds.map(async ({ filter, place }) => {
    const { data } = await ask(listExecutions({ query: { [filter]: id, limit: 1 }, signal }));
    return data.length > 0 ? `${consolePath}${place}${encodeURIComponent(id)}` : null;
  });
  const isExecution = ask(getExecution({ path: { id }, signal })).then(
    () => `${consolePath}/executions/${encodeURIComponent(id)}`,
    () => null,
  );
  // A key that reads no spans finds executions all the same.
  const ofSpans = ask(findById({ query: { id }, signal })).then(
    ({ data }) => data,
    () => [],
  );
  const places = await Promise.all([isExecution, ...lists]);
  return { place: places.find((place) => place !== null) ?? null, spans: await ofSpans };
}

/** Finds an id: an execution, an investigation, spans, or the executions of a run, request, session or user. */
export function FindPage(): ReactNode {
  const { id = '' } = route.useSearch();
  const query = useQuery({
    queryKey: ['executions', 'find', id],
    queryFn: ({ signal }) => whatHas(id, signal),
    enabled: id !== '',
  });
  const navigate = useNavigate();
  const place = query.data?.place;
  useEffect(() => {
    if (place) void navigate({ href: place, replace: true });
  }, [place, navigate]);
  return (
    <Page name="Find" about={id}>
      {id === '' ? (
        <Empty title="No id was given">
          <p>Ctrl K takes the id of an execution, an investigation, a run, a request, a session or a user.</p>
        </Empty>
      ) : (
        <Loaded query={query}>{(found) => found.place === null && <NoExecution id={id} {...found} />}</Loaded>
      )}
    </Page>
  );
}

function NoExecution({ id, spans }: { readonly id: string } & Found): ReactNode {
  if (spans.length === 0)
    return (
      <Empty title="Nothing has this id">
        <p>
          No stored execution or span has the id <code>{id}</code>, or belongs to an investigation, run,
          thread, trace, request, session or user with this id.
        </p>
        <Link to="/executions" className={buttonLook()}>
          All executions
        </Link>
      </Empty>
    );
  return (
    <Empty title="Spans have this id">
      <p>No execution has it.</p>
      {spans.map(({ kind, trace_id: trace, span_id: span }) => (
        <p key={kind}>
          {kind === 'thread' ? (
            <Link to="/traces" search={{ thread: id }}>
              The traces of the thread
            </Link>
          ) : (
            <Link to="/traces/$id" params={{ id: trace }} search={kind === 'span' ? { span } : {}}>
              {kind === 'span' ? 'The span' : `The ${kind}`}
            </Link>
          )}
        </p>
      ))}
    </Empty>
  );
}
