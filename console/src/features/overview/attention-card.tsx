import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CircuitView, StatusCountsView, ToolHealthView } from '../../lib/api.js';
import { counted } from '../../lib/format.js';
import { CircuitBadge } from '../../ui/circuit-badge.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { Time } from '../../ui/time.js';
import { Failures } from './failures.js';
import css from './overview.module.css';
import { reasonText } from './reason-text.js';

/** A tool that is not well: what is wrong, since when, how it fails, and what to do. */
export function AttentionCard({ report }: { readonly report: ToolHealthView }): ReactNode {
  const { toolName: name, status, why, recommendations, recentErrors } = report;
  const since = why.find((reason) => reason.since !== null)?.since;
  return (
    <article className={`${css.card} ${status === 'unhealthy' ? css.unhealthy : css.degraded}`}>
      <div>
        <h2>
          <Link to="/tools/$name/health" params={{ name }}>
            {name}
          </Link>
          <Badge state={status} />
          {since && (
            <small>
              since <Time at={since} />
            </small>
          )}
        </h2>
        <p>{why.map(reasonText).join(' · ')}</p>
        {recentErrors > 0 && <Failures tool={name} />}
        {recommendations[0] !== undefined && <p className={css.todo}>{recommendations[0]}</p>}
      </div>
      <div className={css.actions}>
        <Link to="/tools/$name/health" params={{ name }} className={buttonLook(undefined, true)}>
          See why
        </Link>
        <Link
          to="/executions"
          search={{ tool: name, status: 'error' }}
          className={buttonLook(undefined, true)}
        >
          Failed calls
        </Link>
        <Link to="/tools/$name/circuit" params={{ name }} className={buttonLook(undefined, true)}>
          Circuit
        </Link>
      </div>
    </article>
  );
}

/** A tool whose calls are refused for now. */
export function CircuitCard({ circuit }: { readonly circuit: CircuitView }): ReactNode {
  const { tool: name, state, reason, since, nextProbeAt, heldByHand, by } = circuit;
  return (
    <article className={`${css.card} ${state === 'open' ? css.unhealthy : css.degraded}`}>
      <div>
        <h2>
          <Link to="/tools/$name/circuit" params={{ name }}>
            {name}
          </Link>
          <CircuitBadge state={state} />
          <small>
            since <Time at={since} />
          </small>
        </h2>
        <p>
          {reason}
          {by !== null && ` (by ${by})`}
        </p>
        <Failures tool={name} />
        <p className={css.todo}>
          {heldByHand && 'Its calls are refused until somebody closes the circuit.'}
          {!heldByHand && nextProbeAt !== null && (
            <>
              Its calls are refused; the next probe comes <Time at={nextProbeAt} />.
            </>
          )}
          {!heldByHand && state === 'half_open' && 'It is being probed: three calls that succeed close it.'}
        </p>
      </div>
      <div className={css.actions}>
        <Link to="/tools/$name/circuit" params={{ name }} className={buttonLook(undefined, true)}>
          Circuit
        </Link>
      </div>
    </article>
  );
}

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
