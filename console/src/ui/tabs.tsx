import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import css from './layout.module.css';

/** Screens of one thing, as links: each has an address of its own. The one that is shown is in sight on a narrow window, too. */
export function Tabs({ label, children }: { label: string; children: ReactNode }): ReactNode {
  const bar = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const shown = bar.current?.querySelector<HTMLElement>('[aria-current=page]');
    if (bar.current && shown) bar.current.scrollLeft = shown.offsetLeft - bar.current.offsetLeft - 48;
  }, [path]);
  return (
    <nav ref={bar} className={css.tabs} aria-label={label}>
      {children}
    </nav>
  );
}
