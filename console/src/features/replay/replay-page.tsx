import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { NeedsScope } from '../../app/needs-scope.js';
import type { ExecutionView, PayloadView, ReplayView } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { useDraft } from '../../lib/drafts.js';
import type { Act } from '../../lib/act.js';
import { useOwnProject, useProjects } from '../../lib/project.js';
import { customToolsQuery, executionQuery, payloadQuery, toolQuery } from '../../lib/queries.js';
import { useRuns } from '../../lib/use-runs.js';
import { Bench, RunButton } from '../../ui/bench.js';
import { Comparison } from '../../ui/comparison.js';
import { buttonLook } from '../../ui/controls.js';
import { CopyAs, formsOf } from '../../ui/copy-as.js';
import { InputEditor } from '../../ui/input-editor.js';
import { Note, Workspace } from '../../ui/layout.js';
import { RunResult } from '../../ui/run-result.js';
import { Empty, Loaded } from '../../ui/states.js';
import css from './replay-page.module.css';

const route = getRouteApi('/shell/executions/$id/replay');

interface ExecutionProps {
  readonly execution: ExecutionView;
}

/** The same call once more, and how it differs from the first time. */
export function ReplayPage(): ReactNode {
  const { id } = route.useParams();
  const execution = useQuery(executionQuery(id));
  const { inProject } = useProjects();
  useOwnProject(execution.data?.project);
  return (
    <Workspace
      name={execution.data ? `Replay of ${execution.data.toolName}` : 'Replay'}
      about={`A replay runs the tool${inProject} as a test: it spends no budget and does not count for grade or circuit.`}
      actions={execution.data && <ReplayActions execution={execution.data} />}
    >
      <NeedsScope
        scope="tools:admin"
        title="A replay shows and runs what somebody else has sent"
        why="Replaying requires the scope tools:admin."
      >
        <Loaded query={execution}>{(data) => <WithPayload execution={data} />}</Loaded>
      </NeedsScope>
    </Workspace>
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

/** The replay as it ran, with what it is compared to. */
function useReplay(act: Act) {
  const client = useQueryClient();
  const [replay, setReplay] = useState<ReplayView>();
  const run = useRuns(async (signal) => {
    const answer = await sendExactly<ReplayView>(act, signal);
    setReplay(answer);
    void client.invalidateQueries({ queryKey: ['executions'] });
    return answer.outcome;
  });
  return { ...run, replay };
}

interface ReplayProps {
  readonly execution: ExecutionView;
  readonly payload: PayloadView | null;
}

function Replay({ execution, payload }: ReplayProps): ReactNode {
  const { revision } = route.useSearch();
  const tool = useQuery(toolQuery(execution.toolName));
  const captured = payload && 'input' in payload ? JSON.stringify(payload.input, null, 2) : undefined;
  const { text, setText } = useDraft(`replay ${execution.metricId}`, captured ?? '{}');
  const isAsCaptured = text === captured && payload?.redacted !== true;
  const act = replayOf(execution, isAsCaptured ? undefined : text, revision);
  const { replay, ...run } = useReplay(act);
  return (
    <Bench
      name="replay"
      onRun={run.start}
      first={
        <>
          <CaptureNotes payload={payload} />
          <Loaded query={tool}>
            {({ inputSchema }) => (
              <InputEditor
                schema={inputSchema}
                text={text}
                onText={setText}
                problems={run.failure?.fields ?? []}
              />
            )}
          </Loaded>
        </>
      }
      second={
        <RunResult
          {...run}
          first="diff"
          diff={replay && <Comparison before={originalOf(replay)} now={replay.outcome} />}
          idle={<Empty title="Run the replay to compare it with the original" />}
        />
      }
      bar={
        <>
          <RunButton name="Replay" look="primary" run={run} />
          <RevisionField value={revision} />
          <CopyAs forms={formsOf(() => act)} />
        </>
      }
    />
  );
}

/** The revision that the replay runs on; the address holds it. */
function RevisionField({ value }: { readonly value: number | undefined }): ReactNode {
  const navigate = route.useNavigate();
  return (
    <label className={css.revision}>
      Revision
      <input
        type="number"
        min={1}
        value={value ?? ''}
        placeholder="current"
        onChange={({ target: { value: text } }) =>
          void navigate({ search: { revision: text === '' ? undefined : Number(text) }, replace: true })
        }
      />
    </label>
  );
}

/** The first time, for the comparison. */
function originalOf({ original, payload }: ReplayView) {
  const { status, executionTimeMs, errorMessage } = original;
  const result = payload && 'result' in payload ? payload.result : undefined;
  const isKnown = result !== undefined || status !== 'success';
  return { status, executionTimeMs, error: errorMessage, result, isKnown };
}

const CaptureNotes = ({ payload }: { readonly payload: PayloadView | null }): ReactNode => (
  <>
    {!(payload && 'input' in payload) && (
      <Note>
        The input of this execution was not captured: enter one. To capture future inputs, set capture of the
        tool to “failures” or “all”.
      </Note>
    )}
    {payload?.redacted === true && (
      <Note tone="warn">Secrets were redacted from this input: enter them again.</Note>
    )}
  </>
);
