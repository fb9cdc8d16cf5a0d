import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from 'react';
import css from './probe.module.css';

interface ProbeProps {
  readonly label: string;
  /** Number of parts, side by side. */
  readonly count: number;
  readonly at: number | undefined;
  readonly onAt: (index: number | undefined) => void;
  /** Text of a part for screen readers. */
  readonly textOf: (index: number) => string;
  /** The part at a share of the width; absent: all have the same width. */
  readonly indexAt?: (share: number) => number;
  /** Called with the parts that a click, Enter or a drag chose. */
  readonly onPick?: (from: number, to: number) => void;
  /** Called with the parts that are being chosen. */
  readonly onBrush?: (range: readonly [number, number] | undefined) => void;
}

/** Overlay of a drawing, by which its parts can be pointed at and chosen, also with the keyboard. */
export function Probe(props: ProbeProps): ReactNode {
  const { label, count, at, onAt, textOf, indexAt, onPick, onBrush } = props;
  const start = useRef<number>(undefined);
  const last = count - 1;
  const indexOf = ({ clientX, currentTarget }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const share = (clientX - left) / Math.max(1, width);
    return Math.min(last, Math.max(0, indexAt ? indexAt(share) : Math.floor(share * count)));
  };
  const point = (event: PointerEvent): void => {
    const index = indexOf(event);
    onAt(index);
    if (start.current !== undefined) onBrush?.([start.current, index]);
  };
  const release = (event: PointerEvent): void => {
    if (start.current === undefined) return;
    const [one, other] = [start.current, indexOf(event)];
    start.current = undefined;
    onBrush?.(undefined);
    onPick?.(Math.min(one, other), Math.max(one, other));
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
      {...(onPick && {
        onPointerDown: (event: PointerEvent) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.current = indexOf(event);
        },
        onPointerUp: release,
        onKeyDown: ({ key }: KeyboardEvent) => key === 'Enter' && at !== undefined && onPick(at, at),
      })}
    />
  );
}
