import { useRouterState } from '@tanstack/react-router';
import { Children, type ReactNode, type RefObject, useEffect, useRef } from 'react';
import css from './layout.module.css';

/** Links to the screens of one thing. */
export function Tabs({ label, children }: { label: string; children: ReactNode }): ReactNode {
  const bar = useShownInSight(Children.count(children));
  return (
    <nav ref={bar} className={css.tabs} aria-label={label}>
      {children}
    </nav>
  );
}

/** A scrollable bar of links, which keeps the link of the current screen visible. */
function useShownInSight(links: number): RefObject<HTMLElement | null> {
  const bar = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const shown = bar.current?.querySelector<HTMLElement>('[aria-current=page]');
    if (bar.current && shown) bar.current.scrollLeft = shown.offsetLeft - bar.current.offsetLeft - 48;
  }, [path, links]);
  return bar;
}
