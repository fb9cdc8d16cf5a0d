import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { HealthReasonView, ToolHealthView } from '../../lib/api.js';
import { duration, number, percent } from '../../lib/format.js';
import { errorPatternsQuery, healthQuery } from '../../lib/queries.js';
import { Badge } from '../../ui/controls.js';
import { Card, Columns, Muted, Row, Stack } from '../../ui/layout.js';
import { hoursOf, PeriodSelect } from '../../ui/period.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { GradeHistory } from './grade-history.js';

const route = getRouteApi('/shell/tools/$name/health');

/** The grade of the last hour with each rule that led to it: its figure, its limit, and since when. Then its past. */
export function HealthTab(): ReactNode {
  const { name } = route.useParams();
  const { period } = route.useSearch();
  const health = useQuery(healthQuery(name));
  return (
    <Stack>
      <Loaded query={health}>
        {(report) => (
          <>
            <Card
              title="Grade"
              flush
              actions={
                <Muted>
                  of the last hour, checked <Time at={report.checkedAt} />
                </Muted>
              }
            >
              <Rules report={report} />
            </Card>
            <Columns>
              <Sentences title="What is wrong" lines={report.issues} none="Nothing." />
              <Sentences title="What to do" lines={report.recommendations} none="Nothing." />
            </Columns>
          </>
        )}
      </Loaded>
      <Row>
        <PeriodSelect period={period} />
      </Row>
      <GradeHistory tool={name} hours={hoursOf(period)} />
      <Patterns tool={name} hours={hoursOf(period)} />
    </Stack>
  );
}

const ruleNames: Readonly<Record<HealthReasonView['rule'], string>> = {
  ever_executed: 'Was ever called',
  minimum_calls: 'Calls, enough to tell',
  success_rate: 'Success rate',
  avg_latency: 'Average time',
};

function describe({ rule, figure, threshold }: HealthReasonView): readonly [figure: string, limit: string] {
  if (rule === 'success_rate') return [percent(figure), `at least ${percent(threshold)}`];
  if (rule === 'avg_latency') return [duration(figure), `at most ${duration(threshold)}`];
  return [number(figure), `at least ${number(threshold)}`];
}

interface RuleRow {
  readonly rule: string;
  readonly figure: string;
  readonly limit: string;
  readonly grade: string | null;
  readonly since: string | null;
}

/** Rules that lowered the grade first, then those that did not, then those not graded because of too few calls. */
function ruleRows({ why, status, ...report }: ToolHealthView): RuleRow[] {
  const plain = (rule: string, figure: string): RuleRow => ({
    ...{ rule, figure, limit: 'not graded', grade: null, since: null },
  });
  const kept = (rule: HealthReasonView['rule'], figure: string): RuleRow[] =>
    why.some((reason) => reason.rule === rule)
      ? []
      : status === 'unknown'
        ? [plain(ruleNames[rule], figure)]
        : [{ rule: ruleNames[rule], figure, limit: 'kept', grade: 'healthy', since: null }];
  return [
    ...why.map((reason) => {
      const [figure, limit] = describe(reason);
      return { rule: ruleNames[reason.rule], figure, limit, grade: status, since: reason.since };
    }),
    ...(report.totalCalls === 0
      ? []
      : [
          ...kept('success_rate', percent(report.successRate)),
          ...kept('avg_latency', duration(report.avgLatencyMs)),
          plain('95 % of calls within', duration(report.p95LatencyMs)),
          plain(`Slower than ${duration(report.slowCallMs)}`, percent(report.slowCallRate)),
        ]),
  ];
}

const Rules = ({ report }: { readonly report: ToolHealthView }): ReactNode => (
  <Table
    label="Rules of the grade"
    rows={ruleRows(report)}
    keyOf={({ rule }) => rule}
    columns={[
      { name: 'Rule', cell: ({ rule }) => rule },
      { name: 'Is', isNumber: true, cell: ({ figure }) => figure },
      { name: 'Limit', isNumber: true, cell: ({ limit }) => limit },
      { name: 'Grade', cell: ({ grade }) => grade !== null && <Badge state={grade} /> },
      { name: 'Since', cell: ({ since }) => since !== null && <Time at={since} /> },
    ]}
  />
);

interface SentencesProps {
  readonly title: string;
  readonly lines: readonly string[];
  readonly none: string;
}

const Sentences = ({ title, lines, none }: SentencesProps): ReactNode => (
  <Card title={title}>
    {lines.length === 0 ? (
      <Muted>{none}</Muted>
    ) : (
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    )}
  </Card>
);

function Patterns({ tool, hours }: { readonly tool: string; readonly hours: number }): ReactNode {
  const patterns = useQuery(errorPatternsQuery(tool, hours));
  return (
    <Card title="How it fails" flush>
      <Loaded query={patterns}>
        {({ messages }) =>
          messages.length === 0 ? (
            <Empty title="No failures in this period" />
          ) : (
            <Table
              label="How it fails"
              rows={messages}
              keyOf={({ errorType, message }) => `${errorType} ${message}`}
              columns={[
                { name: 'Times', width: 76, isNumber: true, cell: ({ count }) => number(count) },
                { name: 'Type', isMono: true, width: 160, cell: ({ errorType }) => errorType },
                {
                  name: 'Message',
                  cut: true,
                  cell: ({ example }) => <span title={example}>{example}</span>,
                },
                { name: 'Last', width: 92, cell: ({ lastSeen }) => <Time at={lastSeen} /> },
                {
                  name: 'Executions',
                  width: 100,
                  cell: ({ errorType }) => (
                    <Link to="/executions" search={{ tool, errorType }}>
                      Look
                    </Link>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
