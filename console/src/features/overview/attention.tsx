import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { serverOf } from '../../lib/all-tools.js';
import type { CircuitStateView, SystemHealthView, ToolReportView } from '../../lib/api.js';
import { counted, number } from '../../lib/format.js';
import { errorPatternsQuery } from '../../lib/queries.js';
import { useMayOpen } from '../../lib/may-open.js';
import { useIsPart } from '../../lib/project.js';
import type { Unavailable } from '../../lib/unavailable.js';
import { byUrgency, courseOf, type Standing } from '../../lib/urgency.js';
import { Sparkline } from '../../ui/chart.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { FindingsLink } from '../../ui/findings.js';
import { GradeLine } from '../../ui/grade-line.js';
import { Card, Muted } from '../../ui/layout.js';
import { Since, Time } from '../../ui/time.js';
import { ReportState, ToolState } from '../../ui/tool-state.js';
import css from './overview.module.css';

const worst = ['unhealthy', 'degraded'];
const maxRows = 8;

/** The reason why a tool needs attention. */
interface Trouble {
  readonly tool: string;
  readonly report?: ToolReportView | undefined;
  /** Absent for a circuit that is closed. */
  readonly circuit?: CircuitStateView | undefined;
  /** The reason why it cannot start. */
  readonly fault?: string | undefined;
  /** Investigations that have spent their budget of it. */
  readonly spent?: number | undefined;
}

/** Error types that only callers cause. */
const isTheirs = new Set(['invalid_input', 'payload_too_large', 'idempotency_key_reused']);

const refusalsOf = ({ refusals }: ToolReportView): ToolReportView['refusals'] =>
  refusals.filter(({ code }) => !isTheirs.has(code));

/** Its results report errors, and nothing else is wrong. */
const isSilent = (report: ToolReportView): boolean =>
  report.findings > 0 && !worst.includes(report.status) && courseOf(report) === undefined;
const hasState = (report: ToolReportView): boolean =>
  !isSilent(report) && (report.status !== 'unknown' || courseOf(report) !== undefined);
const unavailableOf = ({ report, fault }: Trouble): Unavailable | undefined =>
  fault === undefined ? report?.unavailable : { state: 'error', why: fault };
const standingOf = (trouble: Trouble): Standing => ({
  ...{
    report: trouble.report,
    unavailable: unavailableOf(trouble),
    isRefusing: trouble.circuit !== undefined,
  },
});

/** Tools that need attention, worst first. */
export function troubles(
  { toolReports, circuits }: SystemHealthView,
  broken: ReadonlyMap<string, string>,
  spent: ReadonlyMap<string, readonly unknown[]>,
): Trouble[] {
  const ailing = toolReports.filter(
    (report) =>
      worst.includes(report.status) ||
      courseOf(report) === 'failing' ||
      report.findings > 0 ||
      report.unavailable?.state === 'held',
  );
  const names = new Set([
    ...broken.keys(),
    ...spent.keys(),
    ...circuits.map(({ tool }) => tool),
    ...ailing.map(({ toolName }) => toolName),
    ...toolReports.filter((report) => refusalsOf(report).length > 0).map(({ toolName }) => toolName),
  ]);
  return [...names]
    .map((tool) => ({
      tool,
      report: toolReports.find(({ toolName }) => toolName === tool),
      circuit: circuits.find((each) => each.tool === tool),
      fault: broken.get(tool),
      spent: spent.get(tool)?.length,
    }))
    .sort((a, b) => byUrgency(standingOf(a), standingOf(b)) || a.tool.localeCompare(b.tool));
}

interface AttentionProps {
  readonly list: readonly Trouble[];
  readonly summary: SystemHealthView['summary'];
}

export const Attention = ({ list, summary }: AttentionProps): ReactNode => (
  <Card title="Needs attention" flush actions={useMayOpen()('/tools') && <Link to="/tools">All tools</Link>}>
    {list.length === 0 ? (
      <AllWell summary={summary} />
    ) : (
      list.slice(0, maxRows).map((trouble) => <TroubleRow key={trouble.tool} {...trouble} />)
    )}
    {list.length > maxRows && (
      <p className={css.more}>
        <Muted>{counted(list.length - maxRows, 'more tool')}</Muted>
      </p>
    )}
  </Card>
);

const acts = {
  review: { to: '/tools/$name/tools', text: 'Review' },
  edit: { to: '/tools/$name/edit', text: 'Edit' },
  circuit: { to: '/tools/$name/circuit', text: 'Circuit' },
  health: { to: '/tools/$name/health', text: 'See why' },
} as const;

function TroubleRow(trouble: Trouble): ReactNode {
  const { tool: name, report, circuit, fault } = trouble;
  const unavailable = unavailableOf(trouble);
  const isHeld = unavailable?.state === 'held';
  const wanted = isHeld
    ? acts.review
    : fault !== undefined
      ? acts.edit
      : circuit
        ? acts.circuit
        : acts.health;
  const act = useMayOpen()(wanted.to) ? wanted : acts.health;
  return (
    <article className={css.trouble} aria-label={name}>
      <div>
        <h3>
          <Link to="/tools/$name/health" params={{ name }}>
            {name}
          </Link>
          {report && isSilent(report) && <Badge state="findings" tone="warn" />}
          {report && hasState(report) && <ReportState report={report} />}
          <ToolState unavailable={unavailable} circuit={circuit?.state} />
          {report && <GradeLine report={report} />}
        </h3>
        <p className={css.reason}>
          {fault ?? (isHeld ? unavailable.why : report && <Reason report={report} />)}
        </p>
        <Hints {...trouble} />
      </div>
      <div className={css.spark}>
        {report?.trend && <Sparkline values={report.trend.calls} bad={report.trend.failures} />}
      </div>
      <Link
        to={act.to}
        params={{ name: isHeld ? serverOf(name) : name }}
        className={buttonLook(undefined, true)}
      >
        {act.text}
      </Link>
    </article>
  );
}

/** Other refusals that callers meet, below the reason. A spent budget is not shown while the tool fails. */
function Hints({ tool, report, circuit, fault, spent }: Trouble): ReactNode {
  const isFailing = report !== undefined && courseOf(report) === 'failing';
  const hints = [
    report && report.findings > 0 && <FindingsLink key="findings" tool={tool} findings={report.findings} />,
    spent !== undefined && !isFailing && (
      <Link key="spent" to="/investigations" search={{ spent: true }}>
        budget spent by {counted(spent, 'investigation')}
      </Link>
    ),
    fault === undefined && circuit && <Refusing key="circuit" circuit={circuit} isAlone={!report} />,
  ].filter(Boolean);
  return hints.length > 0 && <p className={css.hints}>{hints}</p>;
}

/** For how long a circuit refuses calls, and when they are tried again. Its reason stands there if no error does. */
const Refusing = ({ circuit, isAlone }: { circuit: CircuitStateView; isAlone: boolean }): ReactNode => (
  <span>
    circuit <Since at={circuit.openSince ?? circuit.since} />
    {!circuit.heldByHand && circuit.nextProbeAt !== null && (
      <>
        , next probe <Time at={circuit.nextProbeAt} />
      </>
    )}
    {(isAlone || circuit.by !== null) && `: ${circuit.reason}`}
    {circuit.by !== null && ` (by ${circuit.by})`}
  </span>
);

/** Why a tool is listed: the error of now, its refusals, its most frequent failure, or what its grade says. */
function Reason({ report }: { readonly report: ToolReportView }): ReactNode {
  const { lastError } = report.now;
  const isPart = useIsPart();
  const course = courseOf(report);
  if (course !== undefined && lastError)
    return (
      <>
        {course === 'recovering' && (
          <>
            last error <Time at={lastError.at} />:{' '}
          </>
        )}
        <Failures tool={report.toolName} errorType={lastError.errorType} text={lastError.message} />
      </>
    );
  const [refused] = refusalsOf(report);
  if (refused && !worst.includes(report.status)) return `${number(refused.count)} × ${refused.code}`;
  if (report.recentErrors > 0) return <MostFailures tool={report.toolName} />;
  return isSilent(report) || (isPart && report.totalCalls === 0) ? null : report.issues[0];
}

/** The most frequent failure of the last hour. */
function MostFailures({ tool }: { readonly tool: string }): ReactNode {
  const [most] = useQuery(errorPatternsQuery(tool)).data?.messages ?? [];
  return most && <Failures tool={tool} errorType={most.errorType} text={most.example} />;
}

interface FailuresProps extends Readonly<Record<'errorType' | 'text', string | null>> {
  readonly tool: string;
}

/** An error, which leads to all failures of its type. The figures of the row count them. */
const Failures = ({ tool, errorType, text }: FailuresProps): ReactNode => (
  <span title={text ?? undefined}>
    {errorType !== null && (
      <Link to="/executions" search={{ tool, errorType, since: '1h' }}>
        {errorType}
      </Link>
    )}{' '}
    {text}
  </span>
);

const AllWell = ({ summary: { healthy, unknown } }: Pick<AttentionProps, 'summary'>): ReactNode => (
  <p className={css.well}>
    {healthy === 0 ? 'No tool fails' : `${counted(healthy, 'tool')} ${healthy === 1 ? 'is' : 'are'} healthy`}
    {unknown > 0 && `, ${counted(unknown, 'tool')} had too few calls for a grade`}
    {healthy === 0 && (
      <>
        . <Link to="/tools/new">Register a tool</Link> or <Link to="/connect">connect an agent</Link>.
      </>
    )}
  </p>
);
