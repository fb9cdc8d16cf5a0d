import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useToast } from '../../ui/toasts.js';
import { PlaybookEditor } from './playbook-editor.js';

const route = getRouteApi('/shell/playbooks/new');

/** Writes a playbook; from a search that found none it leads back to it. */
export function NewPlaybookPage(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const toast = useToast();
  return (
    <PlaybookEditor
      title="Write a playbook"
      initial={{ version: '1.0.0' }}
      isKnown={false}
      search={search}
      onSaved={({ playbook_id: id, version }) => {
        toast('Saved', `${id} ${version}`);
        if (search.q === undefined) void navigate({ to: '/playbooks/$id', params: { id } });
        else void navigate({ to: '/playbooks', search: { ...search, playbook: id } });
      }}
    />
  );
}
