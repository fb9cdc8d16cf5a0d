import { Menu } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import { buttonLook } from './controls.js';
import css from './copy-as.module.css';
import { useCopy } from './use-copy.js';

interface CopyAsProps {
  /** The text to copy under each name, made when it is chosen. */
  readonly forms: Readonly<Record<string, () => string>>;
}

/** The same act for a shell or a program. */
export function CopyAs({ forms }: CopyAsProps): ReactNode {
  const copy = useCopy();
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className={buttonLook()}>Copy as …</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className={css.positioner}>
          <Menu.Popup className={css.popup}>
            {Object.entries(forms).map(([name, make]) => (
              <Menu.Item key={name} className={css.item} onClick={() => void copy(make(), name)}>
                {name}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
