import { Link, Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePermission } from '../../lib/session.js';
import { Page } from '../../ui/layout.js';
import { Tabs } from '../../ui/tabs.js';

/** Settings of the whole server, and the server's word about itself. */
export const SettingsFrame = (): ReactNode => (
  <Page name="Settings">
    <Tabs label="Settings">
      {usePermission('admin') !== 'no' && (
        <Link to="/settings/keys" activeOptions={{ includeSearch: false }}>
          API keys
        </Link>
      )}
      {usePermission('tools:call') !== 'no' && <Link to="/settings/accounts">Accounts</Link>}
      {usePermission('audit:read') !== 'no' && (
        <Link to="/settings/audit" activeOptions={{ includeSearch: false }}>
          Audit
        </Link>
      )}
      <Link to="/settings/about">About</Link>
    </Tabs>
    <Outlet />
  </Page>
);
