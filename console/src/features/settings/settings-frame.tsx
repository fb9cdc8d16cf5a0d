import { Link, Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePermission } from '../../lib/session.js';
import { Page } from '../../ui/layout.js';
import { Tabs } from '../../ui/tabs.js';

/** Settings of the whole server, and the server's word about itself. Tabs that a key does not open are left out. */
export function SettingsFrame(): ReactNode {
  const [keys, audit] = [usePermission('admin'), usePermission('audit:read')];
  return (
    <Page name="Settings">
      <Tabs label="Settings">
        {keys !== 'no' && (
          <Link to="/settings/keys" activeOptions={{ includeSearch: false }}>
            API keys
          </Link>
        )}
        {audit !== 'no' && (
          <Link to="/settings/audit" activeOptions={{ includeSearch: false }}>
            Audit
          </Link>
        )}
        <Link to="/settings/about">About</Link>
      </Tabs>
      <Outlet />
    </Page>
  );
}
