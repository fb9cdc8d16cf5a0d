import type { ReactNode } from 'react';
import { Button } from './controls.js';
import { Icon } from './icons.js';
import css from './peek.module.css';

interface PeekProps {
  /** The kind of thing that is looked at, for a screen reader. */
  readonly label: string;
  /** Leads to it whole. */
  readonly open: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** One thing beside the list; the list can still be gone through. */
export function Peek({ label, open, onClose, children }: PeekProps): ReactNode {
  return (
    <aside className={css.peek} aria-label={label} tabIndex={-1}>
      <div className={css.head}>
        {open}
        <Button look="quiet" small onClick={onClose} aria-label="Close">
          <Icon name="close" />
        </Button>
      </div>
      <div className={css.body}>{children}</div>
    </aside>
  );
}

/** A list, and the peek beside it where there is one. */
export const Beside = ({ peek, children }: { peek: ReactNode; children: ReactNode }): ReactNode => (
  <div className={peek ? css.beside : undefined} data-beside={peek ? '' : undefined}>
    {children}
    {peek}
  </div>
);
