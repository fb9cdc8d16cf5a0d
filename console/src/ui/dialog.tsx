import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import css from './dialog.module.css';

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}

/** Takes the focus while it is open, gives it back, and closes at Esc. */
export function Dialog({ open, onClose, title, about, children }: DialogProps): ReactNode {
  return (
    <Base.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={css.backdrop} />
        <Base.Popup className={css.popup}>
          <Base.Title>{title}</Base.Title>
          {about !== undefined && <Base.Description>{about}</Base.Description>}
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
