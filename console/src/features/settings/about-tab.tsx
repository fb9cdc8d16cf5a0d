import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { applyTheme, chosenTheme, type Theme } from '../../app/theme.js';
import type { CustomToolView } from '../../lib/api.js';
import { bytes, counted, duration, number } from '../../lib/format.js';
import { customToolsQuery } from '../../lib/queries.js';
import { serverUrl } from '../../lib/server-url.js';
import { useSession } from '../../lib/session.js';
import { tierText } from '../../lib/tiers.js';
import { Card, Columns, Facts, Row, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
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
  own: 'Your own PostgreSQL (DATABASE_URL)',
} as const;

function ServerCard(): ReactNode {
  const { environment } = useSession();
  return (
    <Card title="Server">
      {environment ? (
        <Facts
          facts={[
            ['Toolkeeper', environment.version],
            ['Replica', environment.replica],
            ['Database', databases[environment.database]],
          ]}
        />
      ) : (
        <p>Your key may not see this: it needs the scope metrics:read in a key of all projects.</p>
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
          ['Signed in', anonymous ? 'no: these are the rights of callers without a key' : `as ${userId}`],
          ['Key', keyId && <code key="key">{keyId}</code>],
          ['Expires', expiresAt && <Time key="ends" at={expiresAt} />],
          ['Projects', projects?.join(', ') ?? 'all'],
          ['Tools', tools?.join(', ') ?? 'all'],
          ['Scopes', <ScopeList key="scopes" scopes={scopes} />],
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

const names: Readonly<Record<Theme, string>> = { system: 'As the system', light: 'Light', dark: 'Dark' };

function ThemeChoice(): ReactNode {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <Modes
      label="Theme"
      names={names}
      value={theme}
      onChange={(chosen) => {
        applyTheme(chosen);
        setTheme(chosen);
      }}
    />
  );
}

/** The sandbox of this host, in plain words. */
function SandboxCard(): ReactNode {
  const { environment } = useSession();
  const { data: tools = [] } = useQuery({ ...customToolsQuery, enabled: environment !== null });
  if (!environment) return null;
  const { sandboxTier: tier, grantablePaths } = environment;
  const gaps = gapsOf(tools);
  return (
    <Card title="Sandbox">
      <Stack tight>
        <p>
          {tier === null
            ? 'There are no custom tools here.'
            : `Each custom tool runs with ${tierText(tier)}.`}
        </p>
        {tier !== null && (
          <p>
            In addition to its own folder, a tool may be granted{' '}
            {grantablePaths.length > 0 ? grantablePaths.join(', ') : 'nothing'} (
            <code>SANDBOX_GRANTABLE_PATHS</code>).
          </p>
        )}
        {tier !== null && gaps.length === 0 && (
          <p>All limits that the registered tools ask for are enforced.</p>
        )}
        {gaps.length > 0 && (
          <>
            <p>Limits that registered tools ask for and that this host does not enforce:</p>
            <Facts facts={gaps} />
          </>
        )}
      </Stack>
    </Card>
  );
}

/** Rules that are not enforced for some tool, with the reason and how many it concerns. */
function gapsOf(tools: readonly CustomToolView[]): (readonly [name: string, text: string])[] {
  const gaps = new Map<string, { readonly why: string; tools: number }>();
  for (const { notEnforced, notes } of tools.map(({ effectiveSandbox }) => effectiveSandbox))
    for (const name of notEnforced) {
      const known = gaps.get(name) ?? { why: notes[name] ?? '', tools: 0 };
      known.tools += 1;
      gaps.set(name, known);
    }
  return [...gaps].map(([name, { why, tools: count }]) => [
    name,
    `${why}${why && ' '}(${count} of ${tools.length} tools)`,
  ]);
}
