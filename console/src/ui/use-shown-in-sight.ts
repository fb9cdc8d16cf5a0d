import { useRouterState } from '@tanstack/react-router';
import { type RefObject, useEffect, useRef } from 'react';

/** A bar of links that may be wider than its window: the link of the screen that is shown is in sight. */
export function useShownInSight(links: number): RefObject<HTMLElement | null> {
  const bar = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const shown = bar.current?.querySelector<HTMLElement>('[aria-current=page]');
    if (bar.current && shown) bar.current.scrollLeft = shown.offsetLeft - bar.current.offsetLeft - 48;
  }, [path, links]);
  return bar;
}
