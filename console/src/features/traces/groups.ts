import { ask, type GroupView, listGroups, type ListGroupsData } from '../../lib/api.js';
import { inEach, type OfProject, type Sought } from '../../lib/project.js';

export type GroupQuery = NonNullable<ListGroupsData['query']>;
export type Group = GroupView & OfProject;

/** A page of the groups of each project, the newest first. */
export async function groupsIn(projects: Sought, query: GroupQuery, signal: AbortSignal) {
  const lists = await inEach(projects, (project) =>
    ask(listGroups({ query: { ...query, project }, signal })),
  );
  const [longest] = lists.toSorted((a, b) => b.pagination.total - a.pagination.total);
  const total = lists.reduce((sum, { pagination }) => sum + pagination.total, 0);
  const pagination = longest?.pagination ?? { offset: 0, limit: 0, total };
  return { data: newestFirst(lists.flatMap(({ data }) => data)), pagination, total };
}

export const newestFirst = (groups: readonly Group[]): readonly Group[] =>
  groups.toSorted((a, b) => b.start_time_us - a.start_time_us);
