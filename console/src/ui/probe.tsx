import type { PointerEvent, ReactNode } from 'react';
import css from './probe.module.css';

interface ProbeProps {
  readonly label: string;
  /** The number of things that can be pointed at, side by side. */
  readonly count: number;
  readonly at: number | undefined;
  readonly onAt: (index: number | undefined) => void;
  /** The words of a screen reader for one. */
  readonly textOf: (index: number) => string;
  /** The one at a share of the width; absent: all are as wide. */
  readonly indexAt?: (share: number) => number;
}

/** Lies over a drawing, and lets its parts be pointed at, also by the arrow keys. */
export function Probe({ label, count, at, onAt, textOf, indexAt }: ProbeProps): ReactNode {
  const last = count - 1;
  const point = ({ clientX, currentTarget }: PointerEvent): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const share = (clientX - left) / Math.max(1, width);
    onAt(Math.min(last, Math.max(0, indexAt ? indexAt(share) : Math.floor(share * count))));
  };
  return (
    <input
      type="range"
      className={css.probe}
      aria-label={label}
      aria-valuetext={textOf(at ?? last)}
      min={0}
      max={last}
      value={at ?? last}
      onChange={({ target }) => onAt(Number(target.value))}
      onFocus={() => onAt(at ?? last)}
      onBlur={() => onAt(undefined)}
      onPointerMove={point}
      onPointerLeave={() => onAt(undefined)}
    />
  );
}
