import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { playbookQuery } from '../../lib/playbook-queries.js';
import { Page } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { draftOf } from './draft.js';
import { PlaybookEditor } from './playbook-editor.js';
import { useStanding } from './wanted-search.js';

const route = getRouteApi('/shell/playbooks/$id/edit');
const newRoute = getRouteApi('/shell/playbooks/new');

/** Changes a playbook by a new version. From a search it leads back to it, and to where the playbook stands then. */
export function EditPlaybookPage(): ReactNode {
  const { id } = route.useParams();
  const search = route.useSearch();
  const playbook = useQuery({ ...playbookQuery(id), staleTime: Infinity });
  const before = useStanding(search, id);
  return (
    <Loaded query={playbook} within={(state) => <Page name={`Edit ${id}`}>{state}</Page>}>
      {(data) => (
        <PlaybookEditor
          title={`Edit ${data.name}`}
          about="Saving makes a new version, which agents find from then on; the one before stays as it is."
          initial={draftOf(data)}
          isKnown
          search={search}
          before={before}
        />
      )}
    </Loaded>
  );
}

/** Writes a playbook; from a search that found none it leads back to it. */
export function NewPlaybookPage(): ReactNode {
  const search = newRoute.useSearch();
  return (
    <PlaybookEditor title="Write a playbook" initial={{ version: '1.0.0' }} isKnown={false} search={search} />
  );
}
