import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { mcpServersQuery, toolsQuery } from '../../lib/queries.js';
import { useSession } from '../../lib/session.js';
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
  const { data: servers = [] } = useQuery(mcpServersQuery(useSession()));
  const [server, chooseServer] = useState<string>();
  const serverChoice = servers.length > 0 && (
    <Select
      label="Tools"
      none="all"
      options={servers.map(({ name }) => name)}
      value={server}
      onChange={chooseServer}
    />
  );
  return (
    <Page name="Connect">
      <TeachingCards {...{ tool, choice, server, serverChoice }} />
      <VirtualServers />
    </Page>
  );
}
