import { Children, type ReactNode } from 'react';
import css from './layout.module.css';
import { useShownInSight } from './use-shown-in-sight.js';

/** Screens of one thing, as links: each has an address of its own. */
export function Tabs({ label, children }: { label: string; children: ReactNode }): ReactNode {
  const bar = useShownInSight(Children.count(children));
  return (
    <nav ref={bar} className={css.tabs} aria-label={label}>
      {children}
    </nav>
  );
}
