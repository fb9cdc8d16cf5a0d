import { useEffect, useState } from 'react';
import type { LogEntryView } from './api.js';
import { emptyRing, type LogRing, withLines } from './log-ring.js';

const most = 5_000;
/** As often as a person can see a change, however fast the lines come. */
const drawMs = 100;

export interface LogStream {
  readonly ring: LogRing<LogEntryView>;
  readonly isConnected: boolean;
}

/** A tool's log as it grows: its newest entries first, then each that comes. The browser mends a broken connection by itself. */
export function useLogStream(tool: string): LogStream {
  const [ring, setRing] = useState<LogRing<LogEntryView>>(emptyRing);
  const [isConnected, setConnected] = useState(false);
  useEffect(() => {
    setRing(emptyRing);
    let waiting: LogEntryView[] = [];
    const source = new EventSource(`/api/v1/custom-tools/${encodeURIComponent(tool)}/logs?limit=1000`);
    source.onopen = () => setConnected(true);
    source.onerror = () => setConnected(false);
    source.addEventListener('log', ({ data }: MessageEvent<string>) => {
      waiting.push(JSON.parse(data) as LogEntryView);
    });
    const timer = setInterval(() => {
      if (waiting.length === 0) return;
      const more = waiting;
      waiting = [];
      setRing((old) => withLines(old, more, most));
    }, drawMs);
    return () => {
      clearInterval(timer);
      source.close();
    };
  }, [tool]);
  return { ring, isConnected };
}
