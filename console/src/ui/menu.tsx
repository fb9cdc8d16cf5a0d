import { Menu as Base } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import { buttonLook } from './controls.js';
import { Icon } from './icons.js';
import css from './menu.module.css';

export interface MenuItem {
  readonly name: string;
  readonly isDanger?: boolean;
  readonly onClick: () => void;
}

interface MenuProps {
  /** Absent: three dots, for rare or dangerous actions. */
  readonly label?: string | undefined;
  readonly items: readonly MenuItem[];
  /** The element that has the focus afterwards; absent: the button. */
  readonly focusAfter?: () => HTMLElement | null;
}

/** A button that opens a list of actions; dangerous ones belong last. */
export const Menu = ({ label, items, focusAfter }: MenuProps): ReactNode => (
  <Base.Root modal={false}>
    <Base.Trigger
      className={buttonLook(label === undefined ? undefined : 'quiet')}
      aria-label={label ?? 'More actions'}
    >
      {label ?? <Icon name="more" />}
    </Base.Trigger>
    <Base.Portal>
      <Base.Positioner
        sideOffset={4}
        align={label === undefined ? 'end' : 'start'}
        className={css.positioner}
      >
        <Base.Popup className={css.popup} finalFocus={focusAfter}>
          {items.map(({ name, isDanger, onClick }) => (
            <Base.Item key={name} className={`${css.item} ${isDanger ? css.danger : ''}`} onClick={onClick}>
              {name}
            </Base.Item>
          ))}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  </Base.Root>
);
