import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView } from '../lib/api.js';
import { bytes, duration, exactTime, words } from '../lib/format.js';
import { keysQuery } from '../lib/queries.js';
import { usePermission, useSession } from '../lib/session.js';
import { AnsiText } from './ansi-text.js';
import { Ended } from './execution-table.js';
import { Findings } from './findings.js';
import { JsonText } from './json-text.js';
import { Facts, Muted, Note, type Pairs } from './layout.js';

interface ExecutionProps {
  readonly execution: ExecutionView;
}

/** The faults of an execution: findings in its result, its error, and the end of stderr. */
export const ExecutionFaults = ({ execution }: ExecutionProps): ReactNode => (
  <>
    <Findings execution={execution} />
    {execution.errorType !== null && (
      <Note tone={execution.status === 'timeout' ? 'warn' : 'bad'}>
        <strong>{execution.errorType}</strong>: {execution.errorMessage}
      </Note>
    )}
    <Stderr metadata={execution.metadata} />
  </>
);

/** The facts of one execution: its outcome, caller and process. */
export function ExecutionFacts({ execution }: ExecutionProps): ReactNode {
  const { toolName, requestId, metricId, metadata } = execution;
  const mayTrace = usePermission('traces:read') === 'yes';
  const { anonymous, projects } = useSession();
  const hasKeys = !anonymous || projects !== null;
  return (
    <Facts
      facts={[
        [
          'Tool',
          <Link key="tool" to="/tools/$name/activity" params={{ name: toolName }}>
            {toolName}
          </Link>,
        ],
        ['Project', execution.project],
        ['Status', <Ended key="ended" execution={execution} />],
        ['Time', exactTime(execution.recordedAt)],
        ['Duration', duration(execution.executionTimeMs)],
        ['In / out', `${bytes(execution.inputSize)} / ${bytes(execution.outputSize)}`],
        ['Caller', execution.userId],
        ...belongings(execution, mayTrace, hasKeys && execution.userId === 'anonymous'),
        ['Session', execution.sessionId],
        ['Request', requestId === metricId ? null : requestId],
        ['Tool fault', execution.toolFault ? 'yes' : null],
        [
          'Input hash',
          execution.parametersHash && <code key="hash">{execution.parametersHash.slice(0, 16)}…</code>,
        ],
        ['ID', <code key="id">{metricId}</code>],
        ...notesIn(metadata),
      ]}
    />
  );
}

/** The end of what its process wrote to stderr. */
function Stderr({ metadata }: Pick<ExecutionView, 'metadata'>): ReactNode {
  const text = metadata['stderr'] ?? metadata['stderrTail'];
  if (typeof text !== 'string' || text === '') return null;
  return (
    <div>
      <Muted>stderr</Muted>
      <JsonText label="stderr" value={text}>
        {(shown) => <AnsiText>{shown}</AnsiText>}
      </JsonText>
    </div>
  );
}

/** The investigation, run and trace of the call. The investigations of callers without a key are apart. */
const belongings = (
  { metricId, project, investigationId, runId, traceId }: ExecutionView,
  mayTrace: boolean,
  isKeyless: boolean,
): Pairs => [
  [
    'Investigation',
    investigationId && (
      <Link
        key="inv"
        to="/investigations/$id"
        params={{ id: investigationId }}
        search={isKeyless ? { project: undefined, keyless: true } : { project }}
      >
        {investigationId}
      </Link>
    ),
  ],
  [
    'Run',
    runId && (
      <Link key="run" to="/executions" search={{ run: runId, project }}>
        {runId}
      </Link>
    ),
  ],
  [
    'Trace',
    mayTrace && traceId && (
      <Link key="trace" to="/traces/$id" params={{ id: traceId }} search={{ span: metricId, project }}>
        {traceId}
      </Link>
    ),
  ],
];

/** Notes that stand elsewhere: among the facts above, in the message, or below as a text of their own. */
const saidElsewhere = new Set(['projectId', 'runId', 'resultUnknown', 'stderr', 'stderrTail']);
const noteNames: Readonly<Record<string, string>> = {
  keyId: 'Key',
  pid: 'Process',
  queueMs: 'Queue time',
  spawnMs: 'Process start',
  version: 'Tool version',
  revision: 'Tool revision',
  errorCode: 'JSON-RPC code',
  probe: 'Circuit probe',
};

const notesIn = (metadata: ExecutionView['metadata']): Pairs =>
  Object.entries(metadata)
    .filter(([name, value]) => !saidElsewhere.has(name) && typeof value !== 'object')
    .map(
      ([name, value]) => [noteNames[name] ?? words(name.replace(/Ms$/, '')), figure(name, value)] as const,
    );

/** A key by its name, for those who may list keys. */
function KeyName({ id }: { readonly id: string }): ReactNode {
  const { data } = useQuery({ ...keysQuery, enabled: usePermission('admin') === 'yes' });
  const name = data?.find((each) => each.id === id)?.name;
  if (name === undefined) return id;
  return (
    <Link to="/settings/keys" search={{ key: id }}>
      {name}
    </Link>
  );
}

function figure(name: string, value: unknown): ReactNode {
  if (name === 'replayOf' && typeof value === 'string') {
    return (
      <Link key={name} to="/executions/$id" params={{ id: value }}>
        {value}
      </Link>
    );
  }
  if (name === 'keyId') return <KeyName key={name} id={String(value)} />;
  if (value === true) return 'yes';
  return name.endsWith('Ms') && typeof value === 'number' ? duration(value) : String(value);
}
