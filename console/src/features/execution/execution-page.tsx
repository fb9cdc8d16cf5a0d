import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView, PayloadView } from '../../lib/api.js';
import { exactTime } from '../../lib/format.js';
import { useOwnProject } from '../../lib/project.js';
import { executionQuery, payloadQuery } from '../../lib/queries.js';
import { usePermission } from '../../lib/session.js';
import { AskButton } from '../../ui/ask-button.js';
import { buttonLook } from '../../ui/controls.js';
import { ExecutionFacts } from '../../ui/execution-facts.js';
import { JsonText } from '../../ui/json-text.js';
import { Card, Columns, Muted, Page, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';

const route = getRouteApi('/shell/executions/$id');

export function ExecutionPage(): ReactNode {
  const { id } = route.useParams();
  const execution = useQuery(executionQuery(id));
  useOwnProject(execution.data?.project);
  const framed = (state: ReactNode): ReactNode => (
    <Page name="Execution" about={<code>{id}</code>}>
      {state}
    </Page>
  );
  return (
    <Loaded query={execution} within={framed}>
      {(data) => <Execution execution={data} />}
    </Loaded>
  );
}

/** One call that ran: its record, and what is left of its process. */
function Execution({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const mayReplay = usePermission('tools:admin');
  const { toolName, metricId } = execution;
  return (
    <Page
      name={`Execution of ${toolName}`}
      about={<code>{metricId}</code>}
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
        <Card title="Record">
          <ExecutionFacts execution={execution} />
        </Card>
        <Stack>
          {execution.inputPreview !== undefined && <Payload id={metricId} />}
          <Card title="As the API has it" flush>
            <JsonText label="Record" value={execution} />
          </Card>
        </Stack>
      </Columns>
    </Page>
  );
}

/** The input and the answer that the tool's setting `capture` stored. */
function Payload({ id }: { readonly id: string }): ReactNode {
  const payload = useQuery(payloadQuery(id));
  return (
    <Loaded query={payload}>
      {(kept) =>
        kept && (
          <>
            <Part name="input" title="Input" kept={kept} />
            <Part name="result" title="Result" kept={kept} />
            <Part name="error" title="Error" kept={kept} />
          </>
        )
      }
    </Loaded>
  );
}

interface PartProps {
  readonly name: 'input' | 'result' | 'error';
  readonly title: string;
  readonly kept: PayloadView;
}

function Part({ name, title, kept }: PartProps): ReactNode {
  const isOmitted = kept.omitted.includes(name);
  if (!(name in kept) && !isOmitted) return null;
  return (
    <Card title={title} flush={!isOmitted} actions={<Muted>stored until {exactTime(kept.keptUntil)}</Muted>}>
      {isOmitted ? 'It was too large to be stored.' : <JsonText label={title} value={kept[name]} />}
    </Card>
  );
}
