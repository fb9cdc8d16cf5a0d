import { type ReactNode, useState } from 'react';
import type { ApiError, CustomToolCreate, McpListedToolView, DryRunView } from '../../lib/api.js';
import { useDraft } from '../../lib/drafts.js';
import { counted } from '../../lib/format.js';
import { knownInput } from '../../lib/snippets.js';
import { tierText } from '../../lib/tiers.js';
import { RunButton, Runs } from '../../ui/bench.js';
import { Button, Tag } from '../../ui/controls.js';
import { InputEditor } from '../../ui/input-editor.js';
import { Facts, Note, Row, Stack } from '../../ui/layout.js';
import { RunResult } from '../../ui/run-result.js';
import { Empty } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import css from './register.module.css';
import type { DryRun } from './use-dry-run.js';

interface DryRunResultProps extends DryRun {
  /** Why it was refused when it was tried or saved. */
  readonly failure: ApiError | undefined;
  /** Puts what the executable says about itself into the draft. */
  readonly onTake: ((said: Said) => void) | undefined;
}

/** Fields that an executable declares and a registration may override. */
export type Said = Pick<Partial<CustomToolCreate>, 'description' | 'version' | 'inputSchema'>;

const saidBy = ({ handshake, ...registered }: DryRunView): Said => {
  const { description, version, inputSchema } = { ...registered, ...handshake } as Said;
  return { description, version, inputSchema };
};

/** A dry run: the handshake of what was started, a call of it, and its log. */
export function DryRunResult({ run, log, call, failure, onTake }: DryRunResultProps): ReactNode {
  const [chosen, setChosen] = useState<string>();
  const { data, isPending } = run;
  if (run.isIdle && !failure) return <NotTried />;
  const tools = data && toolsOf(data);
  const tool = tools ? tools.find(({ name }) => name === chosen) : data;
  return (
    <div className={css.dryRun}>
      {tools && <ServerTools tools={tools} chosen={chosen} onChoose={setChosen} />}
      {tool && <Call key={chosen} tool={tools && chosen} schema={tool.inputSchema} call={call} />}
      <div className={css.result}>
        <RunResult
          now={call.now}
          before={call.before}
          isPending={isPending || call.isPending}
          failure={failure ?? call.failure}
          logs={log}
          isRecorded={false}
          idle={data && <Started view={data} onTake={tools ? undefined : onTake} />}
        />
      </div>
    </div>
  );
}

const NotTried = (): ReactNode => (
  <Empty title="Run a dry run to see the result">
    <p>
      It starts the program in its sandbox, reads its name and input schema, and shows what it writes. Nothing
      is stored.
    </p>
  </Empty>
);

/** The tools of an MCP server; undefined for a tool. */
const toolsOf = ({ handshake }: DryRunView): readonly McpListedToolView[] | undefined =>
  Array.isArray(handshake['tools']) ? (handshake['tools'] as McpListedToolView[]) : undefined;

interface CallProps extends Pick<DryRun, 'call'> {
  readonly schema: Readonly<Record<string, unknown>>;
  /** Tool of the MCP server; undefined if a single tool was started. */
  readonly tool: string | undefined;
}

/** A call of what was started. Ctrl Enter in here runs it. */
function Call({ schema, tool, call }: CallProps): ReactNode {
  const { text, setText } = useDraft(`dry run ${tool ?? ''}`, JSON.stringify(knownInput(schema), null, 2));
  const run = { ...call, start: () => call.start({ input: text, tool }) };
  return (
    <Runs onRun={run.start}>
      <section className={css.call} aria-label="Input">
        <Stack>
          <InputEditor schema={schema} text={text} onText={setText} problems={call.failure?.fields ?? []} />
          <Row>
            <RunButton name="Run" run={run} />
          </Row>
        </Stack>
      </section>
    </Runs>
  );
}

interface ServerToolsProps {
  readonly tools: readonly McpListedToolView[];
  readonly chosen: string | undefined;
  readonly onChoose: (name: string) => void;
}

/** The tools of an MCP server before it is saved. */
const ServerTools = ({ tools, chosen, onChoose }: ServerToolsProps): ReactNode => (
  <section className={css.call} aria-label={`It offers ${counted(tools.length, 'tool')}`}>
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
              <Button small aria-pressed={name === chosen} onClick={() => onChoose(name)}>
                Call
              </Button>
            ),
          },
        ]}
      />
    )}
  </section>
);

interface StartedProps extends Pick<DryRunResultProps, 'onTake'> {
  readonly view: DryRunView;
}

/** Whether a difference is a mistake that no author means. */
const isFault = (difference: string): boolean =>
  difference.includes(' is no JSON type') || difference.startsWith('inputSchema: the executable');

const Started = ({ view, onTake }: StartedProps): ReactNode => {
  const { description, version, differences, effectiveSandbox } = view;
  return (
    <div className={css.started}>
      <Row>
        <h2>{differences.some(isFault) ? 'Its input schema is wrong' : 'It starts and answers'}</h2>
        <Tag>{version}</Tag>
      </Row>
      <Facts
        facts={[
          ['Description', description],
          ['Sandbox', tierText(effectiveSandbox.tier)],
          ['Not enforced here', effectiveSandbox.notEnforced.join(', ')],
        ]}
      />
      {differences.map((difference) => (
        <Note key={difference} tone={isFault(difference) ? 'bad' : 'warn'} alert={isFault(difference)}>
          {difference}
        </Note>
      ))}
      {onTake &&
        differences.some((each) => /^(desc|version|inputS)\w*: the registration says/.test(each)) && (
          <Row>
            <Button onClick={() => onTake(saidBy(view))}>Take over from the file</Button>
          </Row>
        )}
    </div>
  );
};
