import { type ReactNode, useState } from 'react';
import { timeSpan } from '../lib/format.js';
import { type Change, type Stretch, stretches } from '../lib/stretches.js';
import { stateName, toneOf } from './controls.js';
import { Probe } from './probe.js';
import css from './state-strip.module.css';

interface StateStripProps<Kind extends string> {
  readonly label: string;
  /** All states, best first. */
  readonly kinds: readonly Kind[];
  /** Oldest first. */
  readonly changes: readonly Change<Kind>[];
  /** Start of the strip in ms; absent: before the first change. */
  readonly start?: number;
  /** End in ms; absent: now. */
  readonly end?: number | undefined;
}

/** Successive states, each as wide as it lasted, with the reasons of the changes. */
export function StateStrip<Kind extends string>(props: StateStripProps<Kind>): ReactNode {
  const { label, kinds, changes, end } = props;
  const [at, setAt] = useState<number>();
  const now = end ?? Date.now();
  const start = props.start ?? beforeFirst(changes, now);
  const parts = stretches(changes, start, now);
  const textOf = (index: number): string => {
    const part = parts[Math.min(index, parts.length - 1)];
    return part ? describe(part, end === undefined && index >= parts.length - 1) : '';
  };
  if (parts.length === 0) return null;
  return (
    <figure className={css.figure}>
      <p>{textOf(at ?? parts.length - 1)}</p>
      <div className={css.strip}>
        <svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true">
          {parts.map(({ left, width, kind, startedAt }, index) => (
            <rect
              key={startedAt}
              x={left}
              width={width}
              height={16}
              className={css[toneOf(kind)]}
              data-dim={at !== undefined && at !== index ? '' : undefined}
            />
          ))}
        </svg>
        <Probe
          label={label}
          count={parts.length}
          at={at}
          onAt={setAt}
          textOf={textOf}
          indexAt={(share) => parts.findLastIndex(({ left }) => left <= share * 1_000)}
        />
      </div>
      <figcaption>
        <span>{timeSpan(start)}</span>
        <span>
          {kinds.map((kind) => (
            <span key={kind}>
              <i className={css[toneOf(kind)]} /> {stateName(kind)}
            </span>
          ))}
        </span>
        <span>{end === undefined ? 'now' : timeSpan(end)}</span>
      </figcaption>
    </figure>
  );
}

/** The time before the first change is shown for a tenth of the strip. */
function beforeFirst(changes: readonly Change<string>[], now: number): number {
  const firstAt = Date.parse(changes[0]?.at ?? '') || now;
  return firstAt - Math.max(1_000, (now - firstAt) / 9);
}

function describe({ kind, startedAt, endedAt, why }: Stretch<string>, isNow: boolean): string {
  const since = why === undefined ? '' : `: ${why}`;
  const state = stateName(kind);
  return isNow
    ? `Now ${state}, since ${timeSpan(startedAt)}${since}`
    : `${timeSpan(startedAt, endedAt)}, ${state}${since}`;
}
