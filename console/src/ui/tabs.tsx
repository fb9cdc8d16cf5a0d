import type { ReactNode } from 'react';
import css from './layout.module.css';

/** Screens of one thing, as links: each has an address of its own. */
export const Tabs = ({ label, children }: { label: string; children: ReactNode }): ReactNode => (
  <nav className={css.tabs} aria-label={label}>
    {children}
  </nav>
);
