import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView } from '../../lib/api.js';
import { executionQuery } from '../../lib/queries.js';
import { usePermission } from '../../lib/session.js';
import { AnsiText } from '../../ui/ansi-text.js';
import { buttonLook } from '../../ui/controls.js';
import { ExecutionFacts } from '../../ui/execution-facts.js';
import { JsonText } from '../../ui/json-text.js';
import { Card, Columns, Page, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';

const route = getRouteApi('/shell/executions/$id');

export function ExecutionPage(): ReactNode {
  const { id } = route.useParams();
  const execution = useQuery(executionQuery(id));
  if (execution.data) return <Execution execution={execution.data} />;
  return (
    <Page name="Execution" about={<code>{id}</code>}>
      <Loaded query={execution}>{() => null}</Loaded>
    </Page>
  );
}

/** One call that ran: its record, and what is left of its process. */
function Execution({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const mayReplay = usePermission('tools:admin');
  const { toolName, metricId, metadata } = execution;
  const stderr = metadata['stderr'] ?? metadata['stderrTail'];
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
            Others of this tool
          </Link>
          <Link to="/tools/$name/health" params={{ name: toolName }} className={buttonLook()}>
            Health of the tool
          </Link>
        </>
      }
    >
      <Columns>
        <Stack>
          <Card title="Record">
            <ExecutionFacts execution={execution} />
          </Card>
          {typeof stderr === 'string' && stderr !== '' && (
            <Card title="What it wrote to stderr" flush>
              <JsonText label="stderr" value={stderr}>
                {(shown) => <AnsiText>{shown}</AnsiText>}
              </JsonText>
            </Card>
          )}
        </Stack>
        <Card title="As the API has it" flush>
          <JsonText label="Record" value={execution} />
        </Card>
      </Columns>
    </Page>
  );
}
