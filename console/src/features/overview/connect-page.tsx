import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { toolsQuery } from '../../lib/queries.js';
import { easiest } from '../../lib/snippets.js';
import { Page } from '../../ui/layout.js';
import { Select } from '../../ui/select.js';
import { TeachingCards } from './teaching-cards.js';
import { VirtualServers } from './virtual-servers.js';

export function ConnectPage(): ReactNode {
  const { data: tools = [] } = useQuery(toolsQuery);
  const names = tools.filter(({ kind }) => kind !== 'ui').map(({ name }) => name);
  const [tool = easiest(tools)?.name, choose] = useState<string>();
  const choice = <Select label="Tool" options={names} value={tool} onChange={choose} />;
  return (
    <Page name="Connect">
      <TeachingCards tool={tool} choice={choice} />
      <VirtualServers />
    </Page>
  );
}
