import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { ago, exactTime, lasting } from '../lib/format.js';

const Now = createContext(Date.now());

/** The time of the last tick of the page's clock. */
export const useNow = (): number => useContext(Now);

/** One clock for every relative time on the page. */
export function Clock({ children }: { readonly children: ReactNode }): ReactNode {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5_000);
    return () => clearInterval(timer);
  }, []);
  return <Now value={now}>{children}</Now>;
}

/** "3m ago"; the exact time on hover. */
export function Time({ at }: { readonly at: string }): ReactNode {
  const now = useContext(Now);
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(at, Math.max(now, Date.now()))}
    </time>
  );
}

/** "for 2 h 31 min"; the exact start on hover. */
export function Since({ at }: { readonly at: string }): ReactNode {
  const now = useContext(Now);
  return (
    <time dateTime={at} title={`since ${exactTime(at)}`}>
      for {lasting(Math.max(now, Date.now()) - Date.parse(at))}
    </time>
  );
}
