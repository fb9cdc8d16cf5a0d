import type { ReactNode } from 'react';
import { ThemeChoice } from '../../app/theme-choice.js';
import { useSession } from '../../lib/session.js';
import { Card, Columns, Facts, Muted, Stack } from '../../ui/layout.js';
import { Time } from '../../ui/time.js';
import { LimitsCard } from './limits-card.js';
import { SandboxCard } from './sandbox-card.js';
import { ScopeList } from './scope-list.js';

/** The server, the caller, and how this page looks. */
export const AboutTab = (): ReactNode => (
  <Stack>
    <Columns>
      <Stack>
        <ServerCard />
        <CallerCard />
      </Stack>
      <Stack>
        <SandboxCard />
        <ApiCard />
        <Card title="Theme">
          <ThemeChoice />
        </Card>
      </Stack>
    </Columns>
    <LimitsCard />
  </Stack>
);

const databases = {
  embedded: 'Embedded PostgreSQL in the data directory',
  own: 'PostgreSQL of yours (DATABASE_URL)',
} as const;

function ServerCard(): ReactNode {
  const { environment } = useSession();
  return (
    <Card title="Server">
      {environment ? (
        <Facts
          facts={[
            ['Toolkeeper', environment.version],
            ['Answered by', environment.replica],
            ['Database', databases[environment.database]],
          ]}
        />
      ) : (
        <p>Your key may not see this: it needs the scope metrics:read.</p>
      )}
    </Card>
  );
}

function CallerCard(): ReactNode {
  const { anonymous, userId, keyId, scopes, projects, tools, expiresAt } = useSession();
  return (
    <Card title="You">
      <Facts
        facts={[
          ['Signed in', anonymous ? 'no: this is what everybody may do here' : `as ${userId}`],
          ['Key', keyId && <code key="key">{keyId}</code>],
          ['Ends', expiresAt && <Time key="ends" at={expiresAt} />],
          ['Projects', projects?.join(', ') ?? 'all'],
          ['Tools', tools?.join(', ') ?? 'all'],
          ['May', <ScopeList key="scopes" scopes={scopes} />],
        ]}
      />
    </Card>
  );
}

const links = [
  ['Reference', '/docs', 'every route, to read and to try'],
  ['OpenAPI', '/openapi.json', 'the same for programs'],
  ['Metrics', '/metrics', 'figures for Prometheus'],
  ['Readiness', '/readyz', 'whether calls are taken, part by part'],
] as const;

const ApiCard = (): ReactNode => (
  <Card title="API">
    <Facts
      facts={[
        ...links.map(
          ([name, path, about]) =>
            [
              name,
              <span key={path}>
                <a href={path}>{path}</a> <Muted>{about}</Muted>
              </span>,
            ] as const,
        ),
        ['MCP', <code key="mcp">{`${window.location.origin}/mcp`}</code>],
      ]}
    />
  </Card>
);
