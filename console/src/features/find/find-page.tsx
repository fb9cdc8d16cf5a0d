import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { ask, getExecution, listExecutions } from '../../lib/api.js';
import { findIn, type Sought, useProjects } from '../../lib/project.js';
import { consolePath } from '../../lib/server-url.js';
import { buttonLook } from '../../ui/controls.js';
import { Page } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';

const route = getRouteApi('/shell/find');

/** The kinds of ids under which executions can be asked for. */
const kinds = ['investigation', 'run', 'request', 'session', 'user'] as const;
/** Executions of which the projects are looked at. */
const looked = 100;

/** Things that have an id: a page of executions, or spans. */
interface Found {
  readonly place: string | null;
  readonly spans: Awaited<ReturnType<typeof findIn>>;
}

async function whatHas(id: string, projects: Sought, signal: AbortSignal): Promise<Found> {
  const placeOf = (path: string, search: Readonly<Record<string, string>>): string =>
    `${consolePath}${path}?${new URLSearchParams(search)}`;
  const lists = kinds.map(async (kind) => {
    const { data } = await ask(listExecutions({ query: { [`${kind}Id`]: id, limit: looked }, signal }));
    const [project, another] = new Set(data.map((execution) => execution.project));
    if (project === undefined) return null;
    if (kind === 'investigation' && another === undefined)
      return placeOf(`/investigations/${encodeURIComponent(id)}`, { project });
    return placeOf('/executions', { [kind]: id, ...(another === undefined && { project }) });
  });
  const isExecution = ask(getExecution({ path: { id }, signal })).then(
    ({ project }) => placeOf(`/executions/${encodeURIComponent(id)}`, { project }),
    () => null,
  );
  // A key that reads no spans finds executions all the same.
  const ofSpans = findIn(projects, id, signal).catch(() => []);
  const places = await Promise.all([isExecution, ...lists]);
  return { place: places.find((place) => place !== null) ?? null, spans: await ofSpans };
}

/** Finds an id: an execution, an investigation, spans, or the executions of a run, request, session or user. */
export function FindPage(): ReactNode {
  const { id = '' } = route.useSearch();
  const { sought } = useProjects();
  const query = useQuery({
    queryKey: ['executions', 'find', id, sought],
    queryFn: ({ signal }) => whatHas(id, sought, signal),
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
  const { inProject, hasAll } = useProjects();
  if (spans.length === 0)
    return (
      <Empty title={`Nothing has this id${inProject}`}>
        <p>
          No stored execution or span has the id <code>{id}</code>, or belongs to an investigation, run,
          thread, trace, request, session or user with this id.
        </p>
        {inProject !== '' && hasAll ? (
          <Link to="." search={{ id, project: undefined }} className={buttonLook()}>
            Search all projects
          </Link>
        ) : (
          <Link to="/executions" className={buttonLook()}>
            All executions
          </Link>
        )}
      </Empty>
    );
  return (
    <Empty title="Spans have this id">
      <p>No execution has it.</p>
      {spans.map(({ kind, project, trace_id: trace, span_id: span }) => (
        <p key={`${kind} ${project}`}>
          {kind === 'thread' ? (
            <Link to="/traces" search={{ project, thread: id }}>
              The traces of the thread
            </Link>
          ) : (
            <Link
              to="/traces/$id"
              params={{ id: trace }}
              search={{ project, ...(kind === 'span' && { span }) }}
            >
              {kind === 'span' ? 'The span' : `The ${kind}`}
            </Link>
          )}
        </p>
      ))}
    </Empty>
  );
}
