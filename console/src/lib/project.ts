import { hashKey, type QueryClient, type QueryKey, queryOptions, useQuery } from '@tanstack/react-query';
import { type AnyRouter, useNavigate, useRouterState, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { projectInHeader } from './act.js';
import { ask, client as api, findById, listProjects } from './api.js';
import { text } from './search-params.js';
import { useSession } from './session.js';

/*
 * The selected project is a search parameter of every address; without it, all projects are shown. Requests and the cache of
 * their answers read it here, so that a screen names a project only in its links.
 */

/** Prefixes of the query keys whose answers differ by project. */
const subjectsByProject: ReadonlySet<unknown> = new Set([
  ...['executions', 'investigations', 'health', 'traces', 'trace', 'experiments', 'audit', 'happenings'],
]);

/** The project of the screen that is shown, or of the first one while that loads. */
export function projectIn({ state: { matches, location } }: AnyRouter): string | undefined {
  const search = (matches.at(-1)?.search ?? location.search) as { readonly project?: unknown };
  return text(search.project);
}

/** Sends the project of the screen with each request, and keeps the answers of projects apart. */
export function followProject(router: AnyRouter, client: QueryClient): void {
  client.setDefaultOptions({
    queries: {
      ...client.getDefaultOptions().queries,
      queryKeyHashFn: (key: QueryKey) =>
        hashKey(subjectsByProject.has(key[0]) ? [...key, projectIn(router) ?? null] : key),
    },
  });
  api.interceptors.request.use((request) => {
    const project = projectIn(router);
    if (project !== undefined && !request.headers.has(header))
      request.headers.set(header, projectInHeader(project));
    return request;
  });
}
const header = 'x-project-id';

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: async ({ signal }) => (await ask(listProjects({ signal }))).data,
  staleTime: 30_000,
  refetchInterval: 60_000,
});

/** The project of the address; undefined: all. */
export const useProject = (): string | undefined =>
  useSearch({ strict: false, select: ({ project }: { project?: string }) => project });

interface Projects {
  /** The project of the address; undefined: all. */
  readonly project: string | undefined;
  /** The same in a sentence, with a space before it; empty for all. */
  readonly inProject: string;
  /** Projects that the caller may see. */
  readonly projects: readonly string[];
  /** Projects in which an id is searched; undefined: the caller's only project. */
  readonly sought: readonly (string | undefined)[];
  /** Whether a list may have rows of several projects. */
  readonly isMixed: boolean;
  /** Whether the caller may look at all projects at once. */
  readonly hasAll: boolean;
}

export function useProjects(): Projects {
  const project = useProject();
  const { projects: own } = useSession();
  const { data: known = [] } = useQuery(projectsQuery);
  const projects = [...new Set([...known, ...(project === undefined ? [] : [project])])].toSorted();
  const inProject = project === undefined ? '' : ` in project ${project}`;
  const isMixed = project === undefined && projects.length > 1;
  const sought = isMixed ? projects : [project];
  return { inProject, project, projects, sought, isMixed, hasAll: own === null };
}

/** Adds the project of a single thing's page to an address without one, so that actions and links use it. */
export function useOwnProject(own: string | null | undefined): void {
  const project = useProject();
  const navigate = useNavigate();
  useEffect(() => {
    if (project !== undefined || !own) return;
    void navigate({ to: '.', search: (old) => ({ ...old, project: own }), replace: true });
  }, [project, own, navigate]);
}

/** The list of each kind of thing that belongs to a project, in the address of one. */
const thingsOfProjects = /^(\/(?:executions|investigations|traces|experiments))\/./;

/** The list of the things like the one that is shown; undefined: the screen shows no single thing of a project. */
export const useListOfThing = (): string | undefined =>
  useRouterState({ select: ({ location }) => thingsOfProjects.exec(location.pathname)?.[1] });

/** The project of the lists to which a single thing's page leads back. */
export function useConsoleProject(): string | undefined {
  const { project, hasAll } = useProjects();
  const isThing = useListOfThing() !== undefined;
  const [last, setLast] = useState<string>();
  useEffect(() => {
    if (!isThing) setLast(project);
  }, [isThing, project]);
  return isThing && hasAll ? last : project;
}

/** Whether the screen has the figures of some projects. Grades and circuits are of all projects all the same. */
export function useIsPart(): boolean {
  const { anonymous } = useSession();
  const { project, hasAll } = useProjects();
  return project !== undefined || (!hasAll && !anonymous);
}

export type Sought = Projects['sought'];
export type OfProject = Pick<Projects, 'project'>;

/** The answers for each project. Their rows get the project. */
export const inEach = <A extends { readonly data: readonly object[] }>(
  projects: Sought,
  list: (project: string | undefined) => Promise<A>,
) =>
  Promise.all(
    projects.map(async (project) => {
      const answer = await list(project);
      return { ...answer, data: answer.data.map((row: A['data'][number]) => ({ ...row, project })) };
    }),
  );

/** Things with this id among the spans of each project. */
export async function findIn(projects: Sought, id: string, signal: AbortSignal) {
  const lists = await inEach(projects, (project) => ask(findById({ query: { id, project }, signal })));
  return lists.flatMap(({ data }) => data);
}
