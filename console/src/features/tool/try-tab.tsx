import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { callOf } from '../../lib/act.js';
import type { OutcomeView, ToolView } from '../../lib/api.js';
import { useAskingCalls } from '../../lib/asking-calls.js';
import { sendExactly } from '../../lib/calls.js';
import { useProjects } from '../../lib/project.js';
import { useDraft } from '../../lib/drafts.js';
import { usePermission, useSession } from '../../lib/session.js';
import { toolQuery } from '../../lib/queries.js';
import { asCommand, knownInput } from '../../lib/snippets.js';
import { useLogStream } from '../../lib/use-log-stream.js';
import { useRuns } from '../../lib/use-runs.js';
import { Bench, RunButton } from '../../ui/bench.js';
import { Checkbox } from '../../ui/controls.js';
import { CopyAs, formsOf } from '../../ui/copy-as.js';
import { InputEditor } from '../../ui/input-editor.js';
import { Muted, Note } from '../../ui/layout.js';
import { Questions } from '../../ui/question-form.js';
import { RunResult } from '../../ui/run-result.js';
import { Empty, Loaded } from '../../ui/states.js';
import { useRegistration } from './use-registration.js';

const route = getRouteApi('/shell/tools/$name/try');

/** A call by hand, with the fields that the tool's own schema asks for. */
export function TryTab(): ReactNode {
  const { name } = route.useParams();
  const { custom, isCertain } = useRegistration(name);
  // A disabled tool is not listed for callers, and can still be tried.
  const isDisabled = custom?.status === 'inactive';
  const tool = useQuery({ ...toolQuery(name), enabled: isCertain && !isDisabled });
  const mayTest = usePermission('tools:admin') === 'yes' && custom !== undefined;
  if (isDisabled) return <Call key={name} name={name} tool={custom} mayTest={mayTest} />;
  return (
    <Loaded query={tool}>{(data) => <Call key={name} name={name} tool={data} mayTest={mayTest} />}</Loaded>
  );
}

interface CallProps {
  readonly name: string;
  readonly tool: Pick<ToolView, 'inputSchema' | 'annotations'> & Partial<Pick<ToolView, 'kind'>>;
  readonly mayTest: boolean;
}

const mayChangeThings = (
  <Note tone="warn">This tool is not marked as read-only: a run may change or delete things.</Note>
);

function Call({ name, tool: { inputSchema, annotations, kind }, mayTest }: CallProps): ReactNode {
  const [counts, setCounts] = useState(false);
  const { inProject } = useProjects();
  const commandOf = asCommand.bind(null, useSession().environment);
  const client = useQueryClient();
  const isTest = mayTest && !counts;
  const { text, setText } = useDraft(`call ${name}`, JSON.stringify(knownInput(inputSchema), null, 2));
  const log = useLogOfRun(name, mayTest);
  const asking = useAskingCalls();
  const call = useRuns(async (signal) => {
    log.begin();
    const act = callOf(name, text, isTest);
    const outcome = await (kind === 'mcp' ? asking.send(act, signal) : sendExactly<OutcomeView>(act, signal));
    void client.invalidateQueries({ queryKey: ['executions'] });
    return outcome;
  });
  return (
    <Bench
      name="try"
      onRun={call.start}
      first={
        <>
          {annotations.destructive && !annotations.readOnly && mayChangeThings}
          <InputEditor
            schema={inputSchema}
            text={text}
            onText={setText}
            problems={call.failure?.fields ?? []}
          />
        </>
      }
      second={
        <>
          <Questions {...asking} />
          <RunResult
            {...call}
            logs={mayTest ? log.lines : undefined}
            idle={<Empty title="Run the tool to see its result" />}
          />
        </>
      }
      bar={
        <>
          <RunButton name="Run" look="primary" run={call} />
          {inProject !== '' && <Muted>Runs{inProject}</Muted>}
          {mayTest && (
            <Checkbox label="Count this run in health and circuit" checked={counts} onChange={setCounts} />
          )}
          <CopyAs
            forms={{
              ...formsOf(() => callOf(name, text, isTest)),
              'Command line': () => commandOf(isTest ? 'tool test' : 'tool call', name, text),
            }}
          />
        </>
      }
    />
  );
}

/** The lines that a tool wrote since its last run began, by the stream of its log. */
function useLogOfRun(name: string, isAllowed: boolean) {
  const { lines } = useLogStream(name, isAllowed);
  const [last, setLast] = useState<string>();
  const begin = (): void => setLast(lines.at(-1)?.id);
  return { begin, lines: lines.slice(lines.findLastIndex(({ id }) => id === last) + 1) };
}
