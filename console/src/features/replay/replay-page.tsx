import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { NeedsScope } from '../../app/needs-scope.js';
import { asApiError, type ExecutionView, type PayloadView, type ReplayView } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { useDraft } from '../../lib/drafts.js';
import type { Act } from '../../lib/act.js';
import { customToolsQuery, executionQuery, payloadQuery, toolQuery } from '../../lib/queries.js';
import { Button, buttonLook, TextField } from '../../ui/controls.js';
import { CopyAs, formsOf } from '../../ui/copy-as.js';
import { InputEditor } from '../../ui/input-editor.js';
import { Card, Columns, Note, Page, Row, Stack } from '../../ui/layout.js';
import { Loaded, Loading, Problem } from '../../ui/states.js';
import { Comparison } from './comparison.js';

const route = getRouteApi('/shell/executions/$id/replay');

interface ExecutionProps {
  readonly execution: ExecutionView;
}

/** The same call once more, and how it differs from the first time. */
export function ReplayPage(): ReactNode {
  const { id } = route.useParams();
  const execution = useQuery(executionQuery(id));
  return (
    <Page
      name="Replay"
      about="It really runs, as a trial: it spends no budget and counts neither for grade nor circuit."
      actions={execution.data && <ReplayActions execution={execution.data} />}
    >
      <NeedsScope
        scope="tools:admin"
        title="A replay shows and runs what somebody else has sent"
        why="Replaying requires the scope tools:admin."
      >
        <Loaded query={execution}>{(data) => <WithPayload execution={data} />}</Loaded>
      </NeedsScope>
    </Page>
  );
}

function WithPayload({ execution }: ExecutionProps): ReactNode {
  const payload = useQuery(payloadQuery(execution.metricId));
  return <Loaded query={payload}>{(kept) => <Replay execution={execution} payload={kept} />}</Loaded>;
}

/** The way back to the first time, and on to the program that is to be mended. */
function ReplayActions({ execution: { metricId, toolName: name } }: ExecutionProps): ReactNode {
  const { data: registered } = useQuery(customToolsQuery);
  return (
    <>
      <Link to="/executions/$id" params={{ id: metricId }} className={buttonLook()}>
        The execution
      </Link>
      {registered?.some((each) => each.name === name) === true && (
        <Link to="/tools/$name/edit" params={{ name }} className={buttonLook()}>
          Edit the tool
        </Link>
      )}
    </>
  );
}

/** @param input JSON text; undefined for what was captured, which the server then sends exactly as it was */
function replayOf({ metricId }: ExecutionView, input: string | undefined, revision: number | undefined): Act {
  const members = [
    ...(revision === undefined ? [] : [`"revision":${revision}`]),
    ...(input === undefined ? [] : [`"input":${input}`]),
  ];
  const path = `/api/v1/tool-metrics/executions/${metricId}/replay`;
  return { method: 'POST', path, body: `{${members.join(',')}}` };
}

function useReplay(act: Act) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => sendExactly<ReplayView>(act),
    onSuccess: () => client.invalidateQueries({ queryKey: ['executions'] }),
  });
}

interface ReplayProps {
  readonly execution: ExecutionView;
  readonly payload: PayloadView | null;
}

function Replay({ execution, payload }: ReplayProps): ReactNode {
  const { revision } = route.useSearch();
  const navigate = route.useNavigate();
  const tool = useQuery(toolQuery(execution.toolName));
  const captured = payload && 'input' in payload ? JSON.stringify(payload.input, null, 2) : undefined;
  const { text, setText } = useDraft(`replay ${execution.metricId}`, captured ?? '{}');
  const isAsCaptured = text === captured && payload?.redacted !== true;
  const act = replayOf(execution, isAsCaptured ? undefined : text, revision);
  const replay = useReplay(act);
  const problem = replay.error && asApiError(replay.error);
  return (
    <Columns>
      <Card title={`Input of ${execution.toolName}`}>
        <Stack>
          <CaptureNotes payload={payload} />
          <Loaded query={tool}>
            {({ inputSchema }) => (
              <InputEditor
                schema={inputSchema}
                text={text}
                onText={setText}
                problems={problem?.fields ?? []}
              />
            )}
          </Loaded>
          <TextField
            label="Revision"
            type="number"
            min={1}
            value={revision ?? ''}
            placeholder="as the tool is now"
            onText={(value) =>
              void navigate({ search: { revision: value === '' ? undefined : Number(value) }, replace: true })
            }
          />
          <Row>
            <Button look="primary" disabled={replay.isPending} onClick={() => replay.mutate()}>
              Replay
            </Button>
            <CopyAs forms={formsOf(() => act)} />
          </Row>
        </Stack>
      </Card>
      <div aria-live="polite">
        {replay.isPending && <Loading lines={3} />}
        {problem && !replay.isPending && <Problem problem={problem} />}
        {replay.data && !replay.isPending && <Comparison replay={replay.data} />}
      </div>
    </Columns>
  );
}

const CaptureNotes = ({ payload }: { readonly payload: PayloadView | null }): ReactNode => (
  <>
    {!(payload && 'input' in payload) && (
      <Note>
        The input of this execution was not captured: write one. A tool whose setting capture is “failures” or
        “all” keeps it from now on.
      </Note>
    )}
    {payload?.redacted === true && (
      <Note tone="warn">Secrets were taken out of this input: put them in again.</Note>
    )}
  </>
);
