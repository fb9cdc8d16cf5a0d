import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';
import css from './panes.module.css';

const prefix = 'toolkeeper.panes.';
const min = 20;
const max = 80;
const stepPercent = 2;

/** The share of the first pane in percent; the browser remembers it by its name. */
export function useShare(name: string, initial: number): readonly [number, (share: number) => void] {
  const [share, setShare] = useState(() => Number(window.localStorage.getItem(prefix + name)) || initial);
  const keep = (wanted: number): void => {
    const now = Math.min(max, Math.max(min, Math.round(wanted)));
    setShare(now);
    window.localStorage.setItem(prefix + name, `${now}`);
  };
  return [share, keep];
}

interface SplitterProps {
  readonly label: string;
  readonly share: number;
  readonly onShare: (share: number) => void;
}

/** The handle between two panes of the `data-split` around it: dragged, or moved by the arrow keys. */
export function Splitter({ label, share, onShare }: SplitterProps): ReactNode {
  const drag = ({ currentTarget, pointerId, clientX }: PointerEvent<HTMLDivElement>): void => {
    const parent = currentTarget.closest('[data-split]');
    if (!parent || !currentTarget.hasPointerCapture(pointerId)) return;
    const { left, width } = parent.getBoundingClientRect();
    onShare(((clientX - left) / width) * 100);
  };
  const step = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: share - stepPercent,
      ArrowRight: share + stepPercent,
      Home: min,
      End: max,
    };
    const wanted = steps[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    onShare(wanted);
  };
  return (
    // A separator that can be focused is a control: https://www.w3.org/WAI/ARIA/apg/patterns/windowsplitter/
    <div
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation="vertical"
      aria-valuenow={share}
      aria-valuemin={min}
      aria-valuemax={max}
      className={css.splitter}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={drag}
      onKeyDown={step}
    />
  );
}

interface PanesProps {
  /** Name under which the browser remembers the panes' sizes. */
  readonly name: string;
  /** Initial share of the first pane in percent. */
  readonly share?: number;
  readonly first: ReactNode;
  /** Absent: the first has the whole width. */
  readonly second: ReactNode;
}

/** Two panes of a workspace that scroll alone; on a narrow screen one stands below the other. */
export function Panes({ name, share: initial = 50, first, second }: PanesProps): ReactNode {
  const [share, setShare] = useShare(name, initial);
  const columns = second ? `minmax(0, ${share}%) 9px minmax(0, 1fr)` : 'minmax(0, 1fr)';
  return (
    <div className={css.panes} data-split style={{ gridTemplateColumns: columns }}>
      <div className={css.pane}>{first}</div>
      {second && <Splitter label="Width of the panes" share={share} onShare={setShare} />}
      {second && <div className={css.pane}>{second}</div>}
    </div>
  );
}
