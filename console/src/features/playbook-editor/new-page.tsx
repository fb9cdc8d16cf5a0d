import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { PlaybookEditor } from './playbook-editor.js';

const route = getRouteApi('/shell/playbooks/new');

/** Writes a playbook; from a search that found none it leads back to it. */
export function NewPlaybookPage(): ReactNode {
  const search = route.useSearch();
  return (
    <PlaybookEditor title="Write a playbook" initial={{ version: '1.0.0' }} isKnown={false} search={search} />
  );
}
