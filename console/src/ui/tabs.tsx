import { useRouterState } from '@tanstack/react-router';
import { Children, type ReactNode, type RefObject, useEffect, useRef } from 'react';
import css from './layout.module.css';

/** Screens of one thing, as links: each has an address of its own. */
export function Tabs({ label, children }: { label: string; children: ReactNode }): ReactNode {
  const bar = useShownInSight(Children.count(children));
  return (
    <nav ref={bar} className={css.tabs} aria-label={label}>
      {children}
    </nav>
  );
}

/** A bar of links that may be wider than its window: the link of the screen that is shown is in sight. */
function useShownInSight(links: number): RefObject<HTMLElement | null> {
  const bar = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const shown = bar.current?.querySelector<HTMLElement>('[aria-current=page]');
    if (bar.current && shown) bar.current.scrollLeft = shown.offsetLeft - bar.current.offsetLeft - 48;
  }, [path, links]);
  return bar;
}
