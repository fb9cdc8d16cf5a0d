import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { ApiError, LogEntryView, OutcomeView } from '../lib/api.js';
import { bytes, duration } from '../lib/format.js';
import { executionQuery } from '../lib/queries.js';
import type { Run } from '../lib/use-runs.js';
import { Comparison, earlierOf } from './comparison.js';
import { Badge, Tag } from './controls.js';
import { JsonText } from './json-text.js';
import { Facts, Muted, Note } from './layout.js';
import { LogLines } from './log-lines.js';
import { PanelTabs } from './panel-tabs.js';
import css from './run-result.module.css';
import { Empty, Loading, Problem } from './states.js';

type View = 'result' | 'logs' | 'timing' | 'diff';

interface RunResultProps {
  readonly isPending: boolean;
  readonly failure: ApiError | undefined;
  readonly now: Run | undefined;
  readonly before?: Run | undefined;
  /** Text of the result pane before the first run. */
  readonly idle: ReactNode;
  /** Absent: the caller may not read them. */
  readonly logs?: readonly LogEntryView[] | undefined;
  /** The difference to another run than the last one. */
  readonly diff?: ReactNode;
  readonly first?: View;
  /** A dry run leaves no record. */
  readonly isRecorded?: boolean;
}

/** The result of a run, its log, its timing, and its differences to the run before. */
export function RunResult(props: RunResultProps): ReactNode {
  const { isPending, failure, now, before, idle, logs, isRecorded = true } = props;
  const [chosen, setChosen] = useState<View>();
  const frame = useRef<HTMLDivElement>(null);
  // On a phone it is below the input.
  useEffect(() => {
    if (isPending) frame.current?.scrollIntoView({ block: 'nearest' });
  }, [isPending]);
  const outcome = now?.outcome;
  const isOver = !isPending && failure === undefined;
  const diff =
    props.diff ??
    (before && outcome ? (
      <Comparison before={earlierOf(before.outcome)} now={outcome} />
    ) : (
      <Empty title="Run it twice to compare the results" />
    ));
  const result = (
    <>
      {isPending && <Loading lines={3} />}
      {failure && !isPending && <Refused failure={failure} />}
      {isOver && (outcome ? <Result outcome={outcome} /> : idle)}
    </>
  );
  return (
    <div ref={frame} className={css.frame} aria-live="polite">
      <PanelTabs<View>
        label="Result of the run"
        value={chosen ?? (isOver && outcome && props.first ? props.first : 'result')}
        onChange={setChosen}
        aside={isOver && outcome && <Summary outcome={outcome} isRecorded={isRecorded} />}
        tabs={[
          { value: 'result', name: 'Result', content: result },
          ...(logs
            ? [{ value: 'logs', name: <LogsName logs={logs} />, content: <Log lines={logs} /> } as const]
            : []),
          { value: 'timing', name: 'Timing', content: <Timing now={now} isRecorded={isRecorded} /> },
          { value: 'diff', name: 'Diff', content: diff },
        ]}
      />
    </div>
  );
}

const Refused = ({ failure }: { readonly failure: ApiError }): ReactNode => (
  <div className={css.inset}>
    <Problem problem={failure} />
  </div>
);

const LogsName = ({ logs }: { readonly logs: readonly LogEntryView[] }): ReactNode => (
  <>Logs {logs.length > 0 && <Tag>{logs.length}</Tag>}</>
);

const Log = ({ lines }: { readonly lines: readonly LogEntryView[] }): ReactNode =>
  lines.length === 0 ? (
    <Empty title="The tool has written nothing since the run began" />
  ) : (
    <LogLines label="Log of the run" lines={lines} follows />
  );

interface SummaryProps {
  readonly outcome: OutcomeView;
  readonly isRecorded: boolean;
}

const Summary = ({ outcome, isRecorded }: SummaryProps): ReactNode => (
  <>
    <Badge state={outcome.status} />
    <Muted>{duration(outcome.executionTimeMs)}</Muted>
    {outcome.cached && <Tag>cached result</Tag>}
    {isRecorded && !outcome.cached && (
      <Link to="/executions/$id" params={{ id: outcome.executionId }}>
        Record
      </Link>
    )}
  </>
);

const Result = ({ outcome: { result, error } }: { readonly outcome: OutcomeView }): ReactNode => (
  <>
    {error && (
      <div className={css.inset}>
        <Note tone="bad" alert>
          <strong>{error.type}</strong>: {error.message}
        </Note>
      </div>
    )}
    {(result !== undefined || error?.data !== undefined) && (
      <JsonText label="Result" value={result ?? error?.data} />
    )}
  </>
);

interface TimingProps {
  readonly now: Run | undefined;
  readonly isRecorded: boolean;
}

/** Records are written a moment after the call. */
const recordWait = { retry: 10, retryDelay: 300 };

function Timing({ now, isRecorded }: TimingProps): ReactNode {
  const { data: record } = useQuery({
    ...executionQuery(now?.outcome.executionId ?? ''),
    ...recordWait,
    enabled: isRecorded && now?.outcome.cached === false,
  });
  if (!now) return <Empty title="Nothing ran yet" />;
  const { executionTimeMs, attempts } = now.outcome;
  const waited = (name: string): ReactNode => {
    const ms = record?.metadata[name];
    return typeof ms === 'number' && duration(ms);
  };
  return (
    <div className={css.inset}>
      <Facts
        facts={[
          ['Browser to answer', duration(now.roundTripMs)],
          ['Duration', duration(executionTimeMs)],
          ['Waited for a process', waited('queueMs')],
          ['Start of the process', waited('spawnMs')],
          ['Attempts', attempts],
          ['Input / result', record && `${bytes(record.inputSize)} / ${bytes(record.outputSize)}`],
        ]}
      />
    </div>
  );
}
