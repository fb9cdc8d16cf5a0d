import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CircuitStateView, StatusCountsView, ToolHealthView } from '../../lib/api.js';
import { counted } from '../../lib/format.js';
import { CircuitBadge } from '../../ui/circuit-badge.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { StatusBadge } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import { FailedCalls, Failures } from './failures.js';
import css from './overview.module.css';
import { reasonText } from './reason-text.js';

interface AttentionCardProps {
  readonly tool: string;
  /** Absent for a tool that is graded well. */
  readonly report?: ToolHealthView | undefined;
  /** Absent for one that is closed. */
  readonly circuit?: CircuitStateView | undefined;
  /** The reason why it cannot start; absent for one that starts. */
  readonly fault?: string | undefined;
}

/** A tool that is not well: what is wrong, since when, how it fails, and what to do. */
export function AttentionCard({ tool: name, report, circuit, fault }: AttentionCardProps): ReactNode {
  const { status, why = [], recommendations = [], recentErrors = 0 } = report ?? {};
  const since = circuit?.since ?? why.find((reason) => reason.since !== null)?.since;
  const isBad = fault !== undefined || circuit?.state === 'open' || status === 'unhealthy';
  const hasFailed = circuit !== undefined || recentErrors > 0;
  const params = { name };
  const look = buttonLook(undefined, true);
  return (
    <article className={`${css.card} ${isBad ? css.unhealthy : css.degraded}`}>
      <div>
        <h2>
          <Link to="/tools/$name/health" params={params}>
            {name}
          </Link>
          {status && <Badge state={status} />}
          {fault !== undefined && <StatusBadge status="error" />}
          {circuit && <CircuitBadge state={circuit.state} />}
          {since && (
            <small>
              since <Time at={since} />
            </small>
          )}
        </h2>
        <p>
          {[fault, ...(circuit ? openedBy(circuit) : []), ...why.map(reasonText)].filter(Boolean).join(' · ')}
        </p>
        {hasFailed && <Failures tool={name} />}
        <p className={css.todo}>
          {fault !== undefined ? mendIt : circuit ? <Outlook circuit={circuit} /> : recommendations[0]}
        </p>
      </div>
      <div className={css.actions}>
        {fault !== undefined ? (
          <>
            <Link to="/tools/$name/logs" params={params} className={look}>
              Log
            </Link>
            <Link to="/tools/$name/edit" params={params} className={look}>
              Edit
            </Link>
          </>
        ) : (
          <>
            <Link to="/tools/$name/health" params={params} className={look}>
              See why
            </Link>
            {hasFailed && <FailedCalls tool={name} />}
            <Link to="/tools/$name/circuit" params={params} className={look}>
              Circuit
            </Link>
          </>
        )}
      </div>
    </article>
  );
}

const mendIt =
  'Its calls are refused until a process of it starts. Its editor tries it, and shows what it writes.';

const openedBy = ({ reason, by }: CircuitStateView): string[] =>
  reason === null ? [] : [by === null ? reason : `${reason} (by ${by})`];

/** The way on of a circuit that is not closed. */
const Outlook = ({ circuit }: { readonly circuit: CircuitStateView }): ReactNode => {
  const { heldByHand, nextProbeAt, state } = circuit;
  if (heldByHand) return 'Its calls are refused until somebody closes the circuit.';
  if (state === 'half_open') return 'It is being probed: three calls that succeed close it.';
  return (
    <>
      Its calls are refused
      {nextProbeAt !== null && (
        <>
          ; the next probe comes <Time at={nextProbeAt} />
        </>
      )}
      .
    </>
  );
};

export function AllWell({
  summary: { healthy, unknown },
}: {
  readonly summary: StatusCountsView;
}): ReactNode {
  const ungraded = unknown === 0 ? '' : `; ${counted(unknown, 'tool')} had too few calls for a grade`;
  return (
    <p className={css.well}>
      {healthy === 0
        ? 'No tool fails'
        : `${counted(healthy, 'tool')} ${healthy === 1 ? 'is' : 'are'} healthy`}
      , no circuit is open{ungraded}.
    </p>
  );
}
