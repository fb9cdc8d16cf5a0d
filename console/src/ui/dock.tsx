import { createContext, type CSSProperties, type ReactNode, useContext, useState } from 'react';
import { createPortal } from 'react-dom';
import css from './dock.module.css';
import { Splitter, useShare } from './panes.js';

const Slot = createContext<HTMLElement | null>(null);

/** The screen with the dock on its right, which is open while a screen has content for it. */
export function WithDock({ children }: { readonly children: ReactNode }): ReactNode {
  const [slot, setSlot] = useState<HTMLElement | null>(null);
  const [share, setShare] = useShare('dock', 68);
  const style: CSSProperties & Record<'--share', string> = { '--share': `${share}%` };
  return (
    <Slot value={slot}>
      <div className={css.frame} data-split style={style}>
        {children}
        <aside aria-label="Side panel" className={css.side} data-dock>
          <Splitter label="Width of the side panel" share={share} onShare={setShare} />
          <div ref={setSlot} className={css.dock} />
        </aside>
      </div>
    </Slot>
  );
}

/** Shows its content in the dock. */
export function Docked({ children }: { readonly children: ReactNode }): ReactNode {
  const slot = useContext(Slot);
  return slot && createPortal(children, slot);
}
