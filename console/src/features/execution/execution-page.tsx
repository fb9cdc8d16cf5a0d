import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { ExecutionView, PayloadView } from '../../lib/api.js';
import { duration, exactTime } from '../../lib/format.js';
import { useOwnProject } from '../../lib/project.js';
import { executionQuery, payloadQuery, queuedCallQuery } from '../../lib/queries.js';
import { usePermission } from '../../lib/session.js';
import { AskButton } from '../../ui/ask-button.js';
import { buttonLook } from '../../ui/controls.js';
import { ExecutionFacts, ExecutionFaults } from '../../ui/execution-facts.js';
import { Ended } from '../../ui/execution-table.js';
import { JsonText } from '../../ui/json-text.js';
import { Card, Columns, Muted, Page, Panel, Stack } from '../../ui/layout.js';
import { PanelTabs } from '../../ui/panel-tabs.js';
import { Empty, Loaded, Loading } from '../../ui/states.js';
import { QueuedCall } from './queued-call.js';

const route = getRouteApi('/shell/executions/$id');

export function ExecutionPage(): ReactNode {
  const { id } = route.useParams();
  // Another caller may mark it meanwhile.
  const execution = useQuery({ ...executionQuery(id), refetchInterval: 10_000 });
  useOwnProject(execution.data?.project);
  const framed = (state: ReactNode): ReactNode => (
    <Page name="Execution" about={<code>{id}</code>}>
      {state}
    </Page>
  );
  // A call that was queued has an id of its own.
  const isQueued = useQuery({ ...queuedCallQuery(id), enabled: execution.isError }).isSuccess;
  if (isQueued) return framed(<QueuedCall id={id} />);
  return (
    <Loaded query={execution} within={framed}>
      {(data) => <Execution execution={data} />}
    </Loaded>
  );
}

/** One call that ran: how it ended, what it was given and answered, its record, and what is left of its process. */
function Execution({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const mayReplay = usePermission('tools:admin');
  const { toolName, metricId } = execution;
  return (
    <Page
      name={`Execution of ${toolName}`}
      title={
        <>
          Execution of {toolName} <Ended execution={execution} />
        </>
      }
      about={
        <>
          {exactTime(execution.recordedAt)} · {duration(execution.executionTimeMs)} · {execution.userId} ·{' '}
          <code>{metricId}</code>
        </>
      }
      actions={
        <>
          {mayReplay !== 'no' && (
            <Link to="/executions/$id/replay" params={{ id: metricId }} className={buttonLook('primary')}>
              Replay
            </Link>
          )}
          <Link to="/executions" search={{ tool: toolName }} className={buttonLook()}>
            Executions of this tool
          </Link>
          <Link to="/tools/$name/health" params={{ name: toolName }} className={buttonLook()}>
            Tool health
          </Link>
          <AskButton question={`What happened in the execution \`${metricId}\`?`} />
        </>
      }
    >
      <Columns>
        <Stack>
          <ExecutionFaults execution={execution} />
          <Payload execution={execution} />
        </Stack>
        <Card title="Record">
          <ExecutionFacts execution={execution} />
        </Card>
      </Columns>
    </Page>
  );
}

const parts = { result: 'Result', error: 'Error', input: 'Input' } as const;
type Part = keyof typeof parts;

/** The input and the answer that the tool's setting `capture` stored, and the record as the API answers it. */
function Payload({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const mayRead = usePermission('tools:admin') !== 'no';
  const isStored = execution.inputPreview !== undefined;
  const { data: kept, isLoading } = useQuery({ ...payloadQuery(execution.metricId), enabled: isStored });
  const [chosen, setChosen] = useState<Part | 'record'>();
  const stored = (Object.keys(parts) as Part[]).filter(
    (part) => kept && (part in kept || kept.omitted.includes(part)),
  );
  if (isLoading) return <Loading />;
  return (
    <Panel>
      <PanelTabs
        label="Input and result"
        value={chosen ?? stored[0] ?? 'record'}
        onChange={setChosen}
        aside={
          <Muted>
            {kept
              ? `stored until ${exactTime(kept.keptUntil)}`
              : mayRead
                ? 'input and result are not stored'
                : 'your key may not read input and result (it needs tools:admin)'}
          </Muted>
        }
        tabs={[
          ...stored.map((part) => ({ value: part, name: parts[part], content: partOf(kept, part) })),
          { value: 'record', name: 'JSON', content: <JsonText label="Record" value={execution} /> },
        ]}
      />
    </Panel>
  );
}

const partOf = (kept: PayloadView | null | undefined, part: Part): ReactNode =>
  kept?.omitted.includes(part) ? (
    <Empty title="It was too large to be stored" />
  ) : (
    <JsonText label={parts[part]} value={kept?.[part]} />
  );
