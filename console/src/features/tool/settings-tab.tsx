import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CustomToolView } from '../../lib/api.js';
import { duration } from '../../lib/format.js';
import { customToolQuery } from '../../lib/queries.js';
import { tierText } from '../../lib/tiers.js';
import { Tags } from '../../ui/controls.js';
import { Card, Columns, Facts, type Pairs, Stack } from '../../ui/layout.js';
import { JsonText } from '../../ui/json-text.js';
import { Loaded } from '../../ui/states.js';
import { Time } from '../../ui/time.js';

const route = getRouteApi('/shell/tools/$name/settings');

/** How the tool is registered, what its processes may do, and which limits this host enforces. */
export function SettingsTab(): ReactNode {
  const { name } = route.useParams();
  const tool = useQuery(customToolQuery(name));
  return <Loaded query={tool}>{(data) => <Settings tool={data} />}</Loaded>;
}

const Settings = ({ tool }: { readonly tool: CustomToolView }): ReactNode => (
  <Stack>
    <Columns>
      <Card title="Program">
        <Facts facts={whatRuns(tool)} />
      </Card>
      <Card title="Behaviour">
        <Facts facts={howItRuns(tool)} />
      </Card>
      {Object.keys(tool.thresholds).length > 0 && (
        <Card title="Health thresholds">
          <Facts
            facts={Object.entries(tool.thresholds).map(([name, value]) => [name, String(value)] as const)}
          />
        </Card>
      )}
    </Columns>
    <Sandbox tool={tool} />
    <Card title="Input schema" flush>
      <JsonText label="Input schema" value={tool.inputSchema} />
    </Card>
  </Stack>
);

const whatRuns = (tool: CustomToolView): Pairs => [
  ['Protocol', tool.protocol],
  ['Command', tool.url === null ? <code key="command">{[tool.command, ...tool.args].join(' ')}</code> : null],
  ['URL', tool.url],
  ['Folder', tool.workingDir && <code key="folder">{tool.workingDir}</code>],
  ['Variables', Object.entries(tool.env).map(shownVariable).join(', ')],
  ['Version', tool.version],
  ['Revision', tool.revision],
  ['Tags', tool.tags.length > 0 && <Tags key="tags" words={tool.tags} />],
  ['Changed', <Time key="changed" at={tool.updatedAt} />],
  ['Registered', <Time key="registered" at={tool.createdAt} />],
];

/** Values of secrets are not shown. */
const shownVariable = ([name, value]: [string, CustomToolView['env'][string]]): string =>
  typeof value === 'string' ? name : `${name}=${value.value}`;

const captured: Readonly<Record<CustomToolView['capture'], string>> = {
  none: 'none; a replay asks for the input',
  failures: 'of calls that fail',
  all: 'of all calls',
};

const isolated: Readonly<Record<CustomToolView['isolation'], string>> = {
  user: 'processes per caller and project',
  project: 'processes per project',
  shared: 'shared by all projects',
};

function howItRuns(tool: CustomToolView): Pairs {
  const { keepAlive, minProcesses, poolSize, maxRetries, retryDelayMs, cacheTtlMs, annotations } = tool;
  const { callsPerInvestigation: calls } = tool;
  return [
    ['Timeout', duration(tool.timeoutMs)],
    [
      'Processes',
      keepAlive ? `${minProcesses} to ${poolSize}, reused` : `up to ${poolSize}, a new one for each call`,
    ],
    ['Isolation', isolated[tool.isolation]],
    ['Concurrency', `${tool.maxConcurrency} per process`],
    ['Retries', maxRetries === 0 ? 'none' : `${maxRetries}, after ${duration(retryDelayMs)}`],
    ['Declared effects', natureOf(annotations, tool.effectiveSandbox)],
    ['Calls per investigation', calls === 0 ? 'no limit' : (calls ?? 'the default of the server')],
    ['Cached results', cacheTtlMs === null ? 'none' : `for ${duration(cacheTtlMs)}`],
    ['Stored inputs and results', captured[tool.capture]],
  ];
}

/** A tool's annotations for its callers, in plain words. */
const natureOf = (
  { readOnly, destructive, idempotent, openWorld }: CustomToolView['annotations'],
  { mayTouch = [] }: CustomToolView['effectiveSandbox'],
): string =>
  [
    readOnly
      ? 'reads only'
      : destructive
        ? 'may change and delete things'
        : 'may change things but not delete them',
    ...(readOnly ? [] : [idempotent ? 'safe to repeat' : 'not safe to repeat']),
    // Its sandbox decides where it has no network.
    ...(mayTouch.includes('Network: none')
      ? []
      : [openWorld ? 'may reach other hosts' : 'stays on this host']),
  ].join('; ');

/** Resources that the tool's processes may touch and use, and limits that this host does not enforce. */
const Sandbox = ({ tool: { effectiveSandbox } }: { readonly tool: CustomToolView }): ReactNode => (
  <Card title="What it may touch">
    <Facts
      facts={[
        ...(effectiveSandbox.mayTouch ?? []).map((line) => {
          const end = line.indexOf(': ');
          return [line.slice(0, end), line.slice(end + 2)] as const;
        }),
        ['Enforced by', tierText(effectiveSandbox.tier)],
      ]}
    />
  </Card>
);
