import type { ReactNode } from 'react';
import { Button } from './controls.js';
import { Docked } from './dock.js';
import { Icon } from './icons.js';
import css from './peek.module.css';

interface PeekProps {
  /** Kind of the thing, for screen readers. */
  readonly label: string;
  /** Link to the thing's own page. */
  readonly open: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Details of one row, shown in the dock; the list stays in use. */
export function Peek({ label, open, onClose, children }: PeekProps): ReactNode {
  return (
    <Docked>
      <section aria-label={label} tabIndex={-1}>
        <div className={css.head}>
          {open}
          <Button look="quiet" small onClick={onClose} aria-label="Close">
            <Icon name="close" />
          </Button>
        </div>
        <div className={css.body}>{children}</div>
      </section>
    </Docked>
  );
}
