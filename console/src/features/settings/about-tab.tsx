import type { ReactNode } from 'react';
import { ThemeChoice } from '../../app/theme-choice.js';
import { bytes, counted, duration, number } from '../../lib/format.js';
import { serverUrl } from '../../lib/server-url.js';
import { useSession } from '../../lib/session.js';
import { Card, Columns, Facts, Row, Stack } from '../../ui/layout.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
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

const ApiCard = (): ReactNode => (
  <Card title="API">
    <Row>
      {['/docs', '/openapi.json', '/metrics', '/readyz'].map((path) => (
        <a key={path} href={serverUrl + path}>
          {path}
        </a>
      ))}
      <code>{`${serverUrl}/mcp`}</code>
    </Row>
  </Card>
);

type Limit = readonly [variable: string, value: number];

/** The limits' labels and the formats of their values. */
const known: Readonly<Record<string, readonly [about: string, format: (value: number) => string]>> = {
  INVESTIGATION_CALLS_PER_TOOL: [
    'Calls of one tool in an investigation',
    (value) => (value === 0 ? 'no limit' : number(value)),
  ],
  CUSTOM_TOOLS_DEFAULT_TIMEOUT: ['Default timeout of a call', duration],
  TOOL_INPUT_MAX_BYTES: ['Input of a call', bytes],
  CUSTOM_TOOLS_MAX_OUTPUT_BYTES: ['Answer of a tool', bytes],
  CUSTOM_TOOLS_MAX_QUEUE: ['Calls that wait for one tool', number],
  CUSTOM_TOOLS_MAX_PROCESSES: ['Processes of all tools together', number],
  BUNDLE_MAX_BYTES: ['Uploaded files of a tool', (value) => (value === 0 ? 'none' : bytes(value))],
  METRICS_RETENTION_DAYS: ['Retention of executions', (value) => counted(value, 'day')],
  SPANS_RETENTION_DAYS: ['Retention of spans', (value) => counted(value, 'day')],
};

const columns: readonly Column<Limit>[] = [
  { name: 'Limit', cell: ([variable]) => known[variable]?.[0] ?? variable },
  {
    name: 'Value',
    isNumber: true,
    width: 120,
    cell: ([variable, value]) => (known[variable]?.[1] ?? number)(value),
  },
  { name: 'Set by', isMono: true, cell: ([variable]) => variable },
];

function LimitsCard(): ReactNode {
  const { environment } = useSession();
  if (!environment) return null;
  return (
    <Card title="Limits" flush>
      <Table
        label="Limits"
        rows={Object.entries(environment.limits)}
        columns={columns}
        keyOf={([variable]) => variable}
      />
    </Card>
  );
}
