import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView } from '../lib/api.js';
import { bytes, duration, exactTime } from '../lib/format.js';
import { useTracesPath } from '../lib/use-traces-path.js';
import { Ended } from './execution-table.js';
import { Facts, Note, type Pairs, Stack } from './layout.js';

/** The facts of one execution: its end, its caller, and its process. */
export function ExecutionFacts({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const { toolName, errorType, errorMessage, semanticFailure, metadata } = execution;
  const tracesPath = useTracesPath([execution]);
  return (
    <Stack>
      {errorType !== null && (
        <Note tone={execution.status === 'timeout' ? 'warn' : 'bad'}>
          <strong>{errorType}</strong>: {errorMessage}
        </Note>
      )}
      {semanticFailure !== null && <Note tone="warn">Marked as of no use: {semanticFailure}</Note>}
      <Facts
        facts={[
          [
            'Tool',
            <Link key="tool" to="/tools/$name/activity" params={{ name: toolName }}>
              {toolName}
            </Link>,
          ],
          ['Ended', <Ended key="ended" execution={execution} />],
          ['When', exactTime(execution.recordedAt)],
          ['Took', duration(execution.executionTimeMs)],
          ['In / out', `${bytes(execution.inputSize)} / ${bytes(execution.outputSize)}`],
          ['User', execution.userId],
          ...belongings(execution, tracesPath),
          ['Session', execution.sessionId],
          ['Request', execution.requestId],
          ['Counts against the tool', execution.toolFault ? 'yes' : null],
          [
            'Input’s hash',
            execution.parametersHash && <code key="hash">{execution.parametersHash.slice(0, 16)}…</code>,
          ],
          ['Id', <code key="id">{execution.metricId}</code>],
          ...Object.entries(metadata)
            .filter(
              ([name, value]) => ['string', 'number', 'boolean'].includes(typeof value) && name !== 'stderr',
            )
            .map(([name, value]) => [words(name), figure(name, value)] as const),
        ]}
      />
    </Stack>
  );
}

/** The units of work that the call was a part of. */
const belongings = (
  { investigationId, runId, traceId }: ExecutionView,
  tracesPath: string | undefined,
): Pairs => [
  [
    'Investigation',
    investigationId && (
      <Link key="inv" to="/investigations/$id" params={{ id: investigationId }}>
        {investigationId}
      </Link>
    ),
  ],
  [
    'Run',
    runId && (
      <Link key="run" to="/executions" search={{ run: runId }}>
        {runId}
      </Link>
    ),
  ],
  [
    'Trace',
    tracesPath !== undefined && (
      <a key="trace" href={tracesPath}>
        {traceId}
      </a>
    ),
  ],
];

/** "queueMs" → "Queue". */
function words(name: string): string {
  const text = name
    .replace(/Ms$/, '')
    .replace(/([A-Z])/g, ' $1')
    .toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const figure = (name: string, value: unknown): string =>
  name.endsWith('Ms') && typeof value === 'number' ? duration(value) : String(value);
