import { type ReactNode, useState } from 'react';
import type { LogEntryView, McpListedToolView, OutcomeView, TrialView } from '../../lib/api.js';
import { counted } from '../../lib/format.js';
import { tierText } from '../../lib/tiers.js';
import { CallPanel } from '../../ui/call-panel.js';
import { Button } from '../../ui/controls.js';
import { Card, Facts, Note, Stack } from '../../ui/layout.js';
import { LogLines } from '../../ui/log-lines.js';
import { Empty } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import type { TrialCall } from './trial.js';

interface TrialResultProps {
  readonly trial: TrialView | undefined;
  readonly log: readonly LogEntryView[];
  readonly run: (call: TrialCall, signal: AbortSignal) => Promise<OutcomeView>;
}

/** A trial's result: the executable's handshake, its sandbox, a call of it, and its log. */
export const TrialResult = ({ trial, log, run }: TrialResultProps): ReactNode => (
  <Stack>
    {trial && <Started trial={trial} />}
    {trial && !isServer(trial) && (
      <CallPanel draft="trial" schema={trial.inputSchema} run={(input, signal) => run({ input }, signal)} />
    )}
    {trial && isServer(trial) && <ServerTools tools={trial.handshake.tools} run={run} />}
    {log.length > 0 && (
      <Card title="What it wrote" flush>
        <LogLines label="What it wrote" lines={log} follows />
      </Card>
    )}
  </Stack>
);

type ServerTrial = TrialView & { readonly handshake: { readonly tools: readonly McpListedToolView[] } };

/** An MCP server answers with its tools. */
const isServer = (trial: TrialView): trial is ServerTrial => Array.isArray(trial.handshake['tools']);

interface ServerToolsProps extends Pick<TrialResultProps, 'run'> {
  readonly tools: readonly McpListedToolView[];
}

/** The tools of an MCP server before it is saved, and a call of one. */
function ServerTools({ tools, run }: ServerToolsProps): ReactNode {
  const [chosen, setChosen] = useState<string>();
  const tool = tools.find(({ name }) => name === chosen);
  return (
    <>
      <Card title={`It offers ${counted(tools.length, 'tool')}`} flush>
        {tools.length === 0 ? (
          <Empty title="No tool" />
        ) : (
          <Table
            label="Tools of the server"
            rows={tools}
            keyOf={({ name }) => name}
            isSelected={({ name }) => name === chosen}
            columns={[
              { name: 'Tool', isMono: true, cell: ({ name }) => name },
              { name: 'Description', cell: ({ description }) => description },
              {
                name: 'Call',
                cell: ({ name }) => (
                  <Button small aria-pressed={name === chosen} onClick={() => setChosen(name)}>
                    Call
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Card>
      {tool && (
        <CallPanel
          key={tool.name}
          draft={`trial ${tool.name}`}
          schema={tool.inputSchema}
          run={(input, signal) => run({ input, tool: tool.name }, signal)}
        />
      )}
    </>
  );
}

const Started = ({ trial }: { readonly trial: TrialView }): ReactNode => {
  const { description, version, differences, effectiveSandbox } = trial;
  return (
    <Card title="It starts and answers">
      <Stack tight>
        <Facts
          facts={[
            ['Description', description],
            ['Version', version],
            ['Held by', tierText(effectiveSandbox.tier)],
            ['Not enforced here', effectiveSandbox.notEnforced.join(', ')],
          ]}
        />
        {differences.map((difference) => (
          <Note key={difference} tone="warn">
            {difference}
          </Note>
        ))}
      </Stack>
    </Card>
  );
};
