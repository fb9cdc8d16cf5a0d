import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { toolsQuery } from '../../lib/queries.js';
import { Page } from '../../ui/layout.js';
import { Select } from '../../ui/select.js';
import { TeachingCards } from './teaching-cards.js';

export function ConnectPage(): ReactNode {
  const names = (useQuery(toolsQuery).data ?? []).map(({ name }) => name);
  const [chosen = 'disk_usage', choose] = useState<string>();
  const tool = names.includes(chosen) ? chosen : (names[0] ?? '');
  const choice = <Select label="Tool" options={names} value={tool} onChange={choose} />;
  return (
    <Page name="Connect">
      <TeachingCards tool={tool} choice={choice} />
    </Page>
  );
}
