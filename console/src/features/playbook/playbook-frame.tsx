import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PlaybookView } from '../../lib/api.js';
import { playbookQuery } from '../../lib/playbook-queries.js';
import { usePermission } from '../../lib/session.js';
import { AskButton } from '../../ui/ask-button.js';
import { Clamped } from '../../ui/clamped.js';
import { Badge, buttonLook, Tag } from '../../ui/controls.js';
import { Page } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';

const route = getRouteApi('/shell/playbooks/$id');

/** One playbook: its latest version, and its screens. */
export function PlaybookFrame(): ReactNode {
  const { id } = route.useParams();
  const playbook = useQuery(playbookQuery(id));
  return (
    <Loaded query={playbook} within={(state) => <Page name={id}>{state}</Page>}>
      {(data) => <Frame playbook={data} />}
    </Loaded>
  );
}

function Frame({ playbook }: { readonly playbook: PlaybookView }): ReactNode {
  const mayWrite = usePermission('playbooks:write');
  const { playbook_id: id, name, status, version, description } = playbook;
  return (
    <Page
      name={name}
      title={
        <>
          {name}
          <Badge state={status} />
          <Tag>{version}</Tag>
        </>
      }
      about={<Clamped text={description} />}
      actions={
        <>
          <AskButton question={`When does the playbook \`${id}\` help?`} />
          {mayWrite !== 'no' && (
            <Link to="/playbooks/$id/edit" params={{ id }} className={buttonLook('primary')}>
              Edit
            </Link>
          )}
        </>
      }
    >
      <Tabs label={name}>
        <Link to="/playbooks/$id" params={{ id }} activeOptions={{ exact: true, includeSearch: false }}>
          Playbook
        </Link>
        <Link to="/playbooks/$id/versions" params={{ id }} activeOptions={{ includeSearch: false }}>
          Versions
        </Link>
      </Tabs>
      <Outlet />
    </Page>
  );
}
