import { type ReactNode, useEffect, useEffectEvent } from 'react';
import css from './bench.module.css';
import { Button } from './controls.js';
import { Foot } from './layout.js';
import { Panes } from './panes.js';

interface BenchProps {
  /** Name under which the browser remembers the panes' sizes. */
  readonly name: string;
  /** Left pane: the input. */
  readonly first: ReactNode;
  /** The result of running it. */
  readonly second: ReactNode;
  /** The actions, below both panes and always in view. */
  readonly bar: ReactNode;
  /** The action of Ctrl Enter (⌘↵). */
  readonly onRun: () => void;
}

/** An editor beside its result. It fills its workspace. */
export function Bench({ name, first, second, bar, onRun }: BenchProps): ReactNode {
  const press = useEffectEvent((event: KeyboardEvent) => {
    const isElsewhere = event.target instanceof Element && event.target.closest('[role=dialog],[data-runs]');
    if (!isRunKey(event) || isElsewhere) return;
    event.preventDefault();
    event.stopPropagation();
    onRun();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => press(event);
    // Capture phase, because the editor would insert a new line.
    window.addEventListener('keydown', listener, true);
    return () => window.removeEventListener('keydown', listener, true);
  }, []);
  return (
    <div className={css.bench}>
      <Panes
        name={name}
        first={<div className={css.first}>{first}</div>}
        second={<div className={css.second}>{second}</div>}
      />
      <Foot>{bar}</Foot>
    </div>
  );
}

type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey'>;
const isRunKey = ({ key, ctrlKey, metaKey }: Pressed): boolean => key === 'Enter' && (ctrlKey || metaKey);

const runKey = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘↵' : 'Ctrl ↵';

interface RunButtonProps {
  readonly name: string;
  readonly look?: 'primary';
  readonly small?: boolean;
  readonly run: { readonly start: () => void; readonly cancel: () => void; readonly isPending: boolean };
  readonly isReady?: boolean;
}

/** The button of Ctrl Enter. During a run it cancels. */
export const RunButton = ({ name, run, isReady = true, ...look }: RunButtonProps): ReactNode => (
  <>
    <Button
      {...look}
      aria-keyshortcuts="Control+Enter Meta+Enter"
      onClick={run.start}
      disabled={!isReady || run.isPending}
    >
      {name}
      <kbd className={css.key} aria-hidden>
        {runKey}
      </kbd>
    </Button>
    {run.isPending && (
      <Button small={look.small === true} onClick={run.cancel}>
        Cancel
      </Button>
    )}
  </>
);

interface RunsProps {
  readonly onRun: () => void;
  readonly children: ReactNode;
}

/** A part of a bench in which Ctrl Enter runs something of its own. */
export const Runs = ({ onRun, children }: RunsProps): ReactNode => (
  <div
    data-runs
    onKeyDownCapture={(event) => {
      if (!isRunKey(event)) return;
      event.preventDefault();
      event.stopPropagation();
      onRun();
    }}
  >
    {children}
  </div>
);
