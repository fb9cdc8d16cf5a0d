import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CircuitStateView, SystemHealthView, ToolReportView } from '../../lib/api.js';
import { counted, number } from '../../lib/format.js';
import { errorPatternsQuery } from '../../lib/queries.js';
import { Sparkline } from '../../ui/chart.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { GradeLine } from '../../ui/grade-line.js';
import { Card, Muted } from '../../ui/layout.js';
import { Since, Time } from '../../ui/time.js';
import { ToolState } from '../../ui/tool-state.js';
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
}

/** Error types that only callers cause. */
const isTheirs = new Set(['invalid_input', 'payload_too_large', 'idempotency_key_reused']);

const refusalsOf = ({ refusals }: ToolReportView): ToolReportView['refusals'] =>
  refusals.filter(({ code }) => !isTheirs.has(code));

/** Tools that need attention, worst first: those that cannot start, with an open circuit, failing, slow, or refusing. */
export function troubles(
  { toolReports, circuits }: SystemHealthView,
  broken: ReadonlyMap<string, string>,
): Trouble[] {
  const ailing = toolReports
    .filter(({ status }) => worst.includes(status))
    .sort((a, b) => worst.indexOf(a.status) - worst.indexOf(b.status) || b.failureRate - a.failureRate);
  const names = new Set([
    ...broken.keys(),
    ...circuits.map(({ tool }) => tool),
    ...ailing.map(({ toolName }) => toolName),
    ...toolReports.filter((report) => refusalsOf(report).length > 0).map(({ toolName }) => toolName),
  ]);
  return [...names].map((tool) => ({
    tool,
    report: toolReports.find(({ toolName }) => toolName === tool),
    circuit: circuits.find((each) => each.tool === tool),
    fault: broken.get(tool),
  }));
}

interface AttentionProps {
  readonly list: readonly Trouble[];
  readonly summary: SystemHealthView['summary'];
}

export const Attention = ({ list, summary }: AttentionProps): ReactNode => (
  <Card title="Needs attention" flush actions={<Link to="/tools">All tools</Link>}>
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
  edit: { to: '/tools/$name/edit', text: 'Edit' },
  circuit: { to: '/tools/$name/circuit', text: 'Circuit' },
  health: { to: '/tools/$name/health', text: 'See why' },
} as const;

function TroubleRow({ tool: name, report, circuit, fault }: Trouble): ReactNode {
  const act = fault !== undefined ? acts.edit : circuit ? acts.circuit : acts.health;
  return (
    <article className={css.trouble} aria-label={name}>
      <div>
        <h3>
          <Link to="/tools/$name/health" params={{ name }}>
            {name}
          </Link>
          {report && report.status !== 'unknown' && <Badge state={report.status} />}
          <ToolState status={fault === undefined ? undefined : 'error'} circuit={circuit?.state} />
          {report && <GradeLine report={report} />}
        </h3>
        <p>{fault ?? (circuit ? <Refusing circuit={circuit} /> : report && <Reason report={report} />)}</p>
      </div>
      <div className={css.spark}>
        {report?.trend && <Sparkline values={report.trend.calls} bad={report.trend.failures} />}
      </div>
      <Link to={act.to} params={{ name }} className={buttonLook(undefined, true)}>
        {act.text}
      </Link>
    </article>
  );
}

/** The failures that opened a circuit, its reason, and when calls are tried again. */
const Refusing = ({ circuit }: Required<Pick<Trouble, 'circuit'>>): ReactNode =>
  circuit && (
    <>
      <Failures tool={circuit.tool} isShort /> circuit <Since at={circuit.since} />
      {!circuit.heldByHand && circuit.nextProbeAt !== null && (
        <>
          , next probe <Time at={circuit.nextProbeAt} />
        </>
      )}
      : {circuit.reason}
      {circuit.by !== null && ` (by ${circuit.by})`}
    </>
  );

/** Why a tool whose circuit is closed is listed: its refusals, its most frequent failure, or what its grade says. */
function Reason({ report }: { readonly report: ToolReportView }): ReactNode {
  const [refused] = refusalsOf(report);
  if (refused && !worst.includes(report.status)) return `${number(refused.count)} × ${refused.code}`;
  return report.recentErrors > 0 ? <Failures tool={report.toolName} /> : report.issues[0];
}

/** The most frequent failure, which leads to its executions. */
function Failures({
  tool,
  isShort = false,
}: {
  readonly tool: string;
  readonly isShort?: boolean;
}): ReactNode {
  const { data } = useQuery(errorPatternsQuery(tool));
  const [most] = data?.messages ?? [];
  if (!most) return null;
  return (
    <span title={most.example}>
      <Link to="/executions" search={{ tool, errorType: most.errorType, since: '1h' }}>
        {most.count} × {most.errorType}
      </Link>{' '}
      {isShort ? '·' : most.example}
    </span>
  );
}

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
