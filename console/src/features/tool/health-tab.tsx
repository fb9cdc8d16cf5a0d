import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ErrorPatternsView, GradeChangeView, HealthReasonView, ToolReportView } from '../../lib/api.js';
import { counted, duration, number, percent } from '../../lib/format.js';
import { useIsPart } from '../../lib/project.js';
import { errorPatternsQuery, gradeChangesQuery, reportQuery } from '../../lib/queries.js';
import { boundsOf, figuresRange, isInRange, type TimeRange } from '../../lib/time-range.js';
import { Badge } from '../../ui/controls.js';
import { LastError } from '../../ui/grade-line.js';
import { Card, Facts, Muted, type Pairs, Row, Stack } from '../../ui/layout.js';
import { FiguresRangePicker } from '../../ui/figures-range.js';
import { StateStrip } from '../../ui/state-strip.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { Grade } from '../../ui/tool-state.js';
import css from './tool.module.css';

const route = getRouteApi('/shell/tools/$name/health');

/** How it is now, then the grade of the last hour with its rules, values and thresholds, its history, and error patterns. */
export function HealthTab(): ReactNode {
  const { name } = route.useParams();
  const range = figuresRange(route.useSearch());
  const health = useQuery(reportQuery(name));
  return (
    <Stack>
      <Loaded query={health}>
        {(report) =>
          report && (
            <>
              <Card title="Why">
                <Facts facts={whyOf(report)} />
              </Card>
              <Card title="Grade of the last hour" flush actions={<Grade {...report} />}>
                <Rules report={report} />
              </Card>
            </>
          )
        }
      </Loaded>
      <Row>
        <FiguresRangePicker {...range} />
      </Row>
      <GradeHistory tool={name} range={range} />
      <Patterns tool={name} range={range} />
    </Stack>
  );
}

const whyOf = ({ now, issues, recommendations, refusals }: ToolReportView): Pairs => [
  [now.failingSince === null ? 'Last error' : 'Error', now.lastError && <ErrorOf key="error" now={now} />],
  ['First failure', now.failingSince && <Time key="first" at={now.failingSince} />],
  ['Callers', now.callersSince > 0 && number(now.callersSince)],
  [
    'Last 5 minutes',
    now.calls === 0
      ? 'no calls'
      : `${number(now.failures)} of ${counted(now.calls, 'call')} failed, p95 ${duration(now.p95LatencyMs ?? 0)}`,
  ],
  ['Issues, last hour', issues.join('; ') || 'none'],
  ['Recommended actions', recommendations.join('; ')],
  ['Refused calls, last hour', refusals.map(({ code, count }) => `${number(count)} × ${code}`).join(', ')],
];

/** The tool's error; of one that does not fail now, with its time. */
const ErrorOf = ({ now: { lastError, failingSince } }: Pick<ToolReportView, 'now'>): ReactNode =>
  lastError && (
    <>
      {failingSince === null && (
        <>
          <Time at={lastError.at} />:{' '}
        </>
      )}
      <LastError of={lastError} />
    </>
  );

const ruleNames = {
  ever_executed: 'Was ever called',
  minimum_calls: 'Calls',
  success_rate: 'Success rate',
  avg_latency: 'Average duration',
} as const;

interface RuleRow {
  readonly rule: string;
  readonly value: string;
  readonly threshold: string;
  /** Absent: the rule is not graded. */
  readonly isOk?: boolean;
  readonly since?: string | null | undefined;
}

/** The two graded rules, what else lowered the grade, and figures that are not graded. */
function ruleRows({ why, status, ...report }: ToolReportView): RuleRow[] {
  const reasonOf = (rule: HealthReasonView['rule']): HealthReasonView | undefined =>
    why.find((reason) => reason.rule === rule);
  const graded = (rule: 'success_rate' | 'avg_latency', value: string, threshold: string): RuleRow => {
    const reason = reasonOf(rule);
    const row = { rule: ruleNames[rule], value, threshold };
    return status === 'unknown' ? row : { ...row, isOk: reason === undefined, since: reason?.since };
  };
  const tooFew = reasonOf('minimum_calls');
  const calls = {
    ...{ rule: ruleNames.minimum_calls, value: number(report.totalCalls) },
    threshold: tooFew ? `≥ ${number(tooFew.threshold)}` : '',
  };
  if (report.totalCalls === 0) return [tooFew ? { ...calls, isOk: false } : calls];
  return [
    graded(
      'success_rate',
      percent(reasonOf('success_rate')?.figure ?? report.successRate),
      `≥ ${percent(report.minSuccessRate)}`,
    ),
    graded('avg_latency', duration(report.avgLatencyMs), `≤ ${duration(report.maxAvgLatencyMs)}`),
    tooFew ? { ...calls, isOk: false } : calls,
    { rule: 'Failed calls', value: number(report.recentErrors), threshold: '' },
    { rule: 'p95 duration', value: duration(report.p95LatencyMs), threshold: '' },
    {
      rule: `Slower than ${duration(report.slowCallMs)}`,
      value: percent(report.slowCallRate),
      threshold: '',
    },
  ];
}

function Rules({ report }: { readonly report: ToolReportView }): ReactNode {
  const isPart = useIsPart();
  // The figures are of the project, the grade is of all.
  if (isPart && report.totalCalls === 0) return <Empty title="No calls of this project in the last hour" />;
  return (
    <Table
      label="Rules of the grade"
      rows={ruleRows(report)}
      keyOf={({ rule }) => rule}
      columns={[
        { name: 'Rule', cell: ({ rule }) => rule },
        { name: 'Value', isNumber: true, cell: ({ value }) => value },
        { name: 'Threshold', isNumber: true, width: 110, cell: ({ threshold }) => threshold },
        {
          name: 'Status',
          card: 'state',
          cell: ({ isOk }) =>
            isOk === undefined ? <Muted>not graded</Muted> : isOk ? 'OK' : <Badge state={report.status} />,
        },
        { name: 'Since', cell: ({ since }) => since && <Time at={since} /> },
      ]}
    />
  );
}

interface PatternsProps {
  readonly tool: string;
  readonly range: TimeRange;
}

type Pattern = ErrorPatternsView['messages'][number];

const patternColumns = (tool: string, range: TimeRange): readonly Column<Pattern>[] => [
  { name: 'Count', width: 76, isNumber: true, cell: ({ count }) => number(count) },
  { name: 'Error', isMono: true, width: 160, card: 'title', cell: ({ errorType }) => errorType },
  { name: 'Message', cut: true, cell: ({ example }) => <span title={example}>{example}</span> },
  { name: 'First', width: 92, isOptional: true, cell: ({ firstSeen }) => <Time at={firstSeen} /> },
  { name: 'Last', width: 92, cell: ({ lastSeen }) => <Time at={lastSeen} /> },
  {
    ...{ name: 'Executions', width: 100 },
    cell: ({ errorType }) => (
      <Link to="/executions" search={{ tool, errorType, ...range }}>
        Show
      </Link>
    ),
  },
];

function Patterns({ tool, range }: PatternsProps): ReactNode {
  const patterns = useQuery(errorPatternsQuery(tool, range));
  return (
    <Card title="Error patterns" flush>
      <Loaded query={patterns}>
        {({ messages }) =>
          messages.length === 0 ? (
            <Empty title="No failures in this period" />
          ) : (
            <Table
              label="Error patterns"
              rows={messages}
              keyOf={({ errorType, message }) => `${errorType} ${message}`}
              columns={patternColumns(tool, range)}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

/** Changes of the grade in a time range, with their reasons. */
function GradeHistory({ tool, range }: PatternsProps): ReactNode {
  const changes = useQuery(gradeChangesQuery(tool));
  const { start, end } = boundsOf(range);
  return (
    <Card
      title="Grade history"
      flush
      actions={
        <Muted>
          graded every minute over the last hour; a change of under 2 points counts after 2 minutes
        </Muted>
      }
    >
      <Loaded query={changes} lines={3}>
        {(data) =>
          data.length === 0 ? (
            <Empty title="No changes" />
          ) : (
            <>
              <div className={css.strip}>
                <StateStrip
                  label="Grades"
                  kinds={['healthy', 'degraded', 'unhealthy', 'unknown']}
                  changes={[...data].reverse()}
                  start={start}
                  end={range.until === undefined ? undefined : end}
                />
              </div>
              <Changes changes={data.filter(({ at }) => isInRange(range, at))} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

/** @param changes newest first */
const Changes = ({ changes }: { readonly changes: readonly GradeChangeView[] }): ReactNode =>
  changes.length > 0 && (
    <Table
      label="Changes of the grade"
      rows={changes}
      keyOf={({ at, to }) => `${at} ${to}`}
      columns={[
        { name: 'Time', width: 92, cell: ({ at }) => <Time at={at} /> },
        { name: 'From', width: 110, cell: ({ from }) => <Badge state={from} /> },
        { name: 'To', width: 110, cell: ({ to }) => <Badge state={to} /> },
        { name: 'Why', cell: ({ why }) => why },
      ]}
    />
  );
