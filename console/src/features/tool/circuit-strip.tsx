import type { ReactNode } from 'react';
import type { CircuitView } from '../../lib/api.js';
import { exactTime } from '../../lib/format.js';
import css from './circuit-strip.module.css';
import { stretches } from './stretches.js';

type Props = Pick<CircuitView, 'state' | 'history'>;

/** The states one after the other, each as wide as it lasted. The table below says the same in words. */
export function CircuitStrip({ state, history }: Props): ReactNode {
  const parts = stretches(state, history, Date.now());
  const [first] = parts;
  if (!first) return null;
  return (
    <figure className={css.figure}>
      <svg className={css.strip} viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(({ from, width, kind }) => (
          <rect key={from} x={from} width={width} y="0" height="16" className={css[kind]} />
        ))}
      </svg>
      <figcaption>
        <span>{exactTime(new Date(first.startedAt).toISOString())}</span>
        <span>
          <i className={css.closed} /> closed <i className={css.half_open} /> half-open{' '}
          <i className={css.open} /> open
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}
