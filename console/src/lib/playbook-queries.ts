import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ask, listPlaybooks, listPlaybookVersions, type PlaybookView, searchPlaybooks } from './api.js';
import { fetchExactly } from './calls.js';
import { situationOf } from './label-text.js';

/** A search for playbooks, as in addresses. */
export interface PlaybookSearch {
  readonly q?: string | undefined;
  /** Labels as `situationOf` reads them. */
  readonly labels?: string | undefined;
  readonly threshold?: number | undefined;
}

/** The answer that an agent would get, with what became of every playbook; of one alone where it is named. */
export const explainedSearchQuery = ({ q = '', labels = '', threshold }: PlaybookSearch, id?: string) =>
  queryOptions({
    queryKey: ['playbooks', 'search', q, labels, threshold, id],
    queryFn: async ({ signal }) => {
      const label = Object.entries(situationOf(labels).labels).map(([name, value]) => [
        `label.${name}`,
        value,
      ]);
      const query = {
        ...{ query: q, explain: true, label: Object.fromEntries(label) as Record<string, string> },
        ...(threshold !== undefined && { min_confidence: threshold }),
        ...(id !== undefined && { playbook_id: id }),
      };
      const { explanation } = await ask(searchPlaybooks({ query, signal }));
      if (!explanation) throw new Error('The server explained nothing.');
      return explanation;
    },
    enabled: q !== '',
    // The old answer stays while the next words are typed.
    placeholderData: keepPreviousData,
  });

/** The first of all, by id; a search finds the others. */
export const somePlaybooksQuery = queryOptions({
  queryKey: ['playbooks', 'some'],
  queryFn: async ({ signal }) => (await ask(listPlaybooks({ query: { limit: 100 }, signal }))).data,
});

export const playbookVersionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['playbooks', 'versions', id],
    queryFn: async ({ signal }) => {
      const query = { include_disabled: true };
      return (await ask(listPlaybookVersions({ path: { id }, query, signal }))).versions;
    },
  });

/** One version, or the latest. Numbers of its procedure keep their notation. */
export const playbookQuery = (id: string, version?: string) =>
  queryOptions({
    queryKey: ['playbooks', 'version', id, version],
    queryFn: async ({ client, signal }) => {
      const versions =
        version === undefined ? await client.fetchQuery({ ...playbookVersionsQuery(id), staleTime: 0 }) : [];
      const wanted = version ?? versions.find((each) => each.is_latest_version)?.version ?? '';
      const path = [id, 'versions', wanted].map(encodeURIComponent).join('/');
      return fetchExactly<PlaybookView>(`/api/v1/playbooks/${path}`, signal);
    },
  });
